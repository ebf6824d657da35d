"""Mining FIMI's `retail`: baskets of a Belgian supermarket (T. Brijs et al., KDD 1999).

It comes by Maven (`testkit/transactions.py`); nothing of it is kept here. Where there is no Maven, or nothing to be had, these
tests are skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fim
import pytest
from testkit.transactions import SHA256, UnavailableError, retail

import incast

DATA, RESULTS = SHA256
TRANSACTIONS = 88_162

Found = dict[frozenset[int], int]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files."""
    place = tmp_path_factory.mktemp("retail")
    try:
        retail(place)
    except UnavailableError as why:
        pytest.skip(str(why))
    return place


@pytest.fixture(scope="module")
def lists(folder: Path) -> list[list[int]]:
    return [[int(item) for item in line.split()] for line in (folder / DATA).read_text().splitlines()]


def flat(result: incast.MineResult) -> Found:
    return {frozenset(items): count for _, items, count in result.itemsets.iter_rows()}


def by_pyfim(transactions: list[list[int]], minimum: int, target: str = "s") -> Found:
    return {
        frozenset(items): count
        for items, count in fim.fpgrowth(transactions, target=target, supp=-minimum, report="a")
    }


@pytest.mark.parametrize("minimum", [44, 88, 882, 8817])
def test_as_pyfim(folder: Path, lists: list[list[int]], minimum: int) -> None:
    assert len(lists) == TRANSACTIONS
    # The support that makes just this count the least one.
    found = incast.mine(folder / DATA, (minimum - 0.5) / TRANSACTIONS)
    assert found.minimum == minimum
    assert flat(found) == by_pyfim(lists, minimum)


@pytest.mark.parametrize(("kind", "target"), [("closed", "c"), ("maximal", "m")])
def test_condensed_as_pyfim(folder: Path, lists: list[list[int]], kind: str, target: str) -> None:
    found = incast.mine(folder / DATA, 0.001, kind=kind)
    assert flat(found) == by_pyfim(lists, found.minimum, target)


def test_as_the_results_that_came_with_it(folder: Path, lists: list[list[int]]) -> None:
    """Itemsets in 100 or more baskets. Each line holds items, then the count in brackets.

    13 of 6,451 are missing there: those are looked for in the baskets themselves.
    """
    theirs: Found = {}
    for line in (folder / RESULTS).read_text().splitlines():
        items, _, count = line.rpartition("(")
        theirs[frozenset(int(item) for item in items.split())] = int(count.rstrip(")"))
    ours = flat(incast.mine(folder / DATA, 99.5 / TRANSACTIONS))
    assert {items: count for items, count in ours.items() if items in theirs} == theirs
    missing = {items: count for items, count in ours.items() if items not in theirs}
    assert len(missing) == 13
    baskets = [set(basket) for basket in lists]
    assert missing == {items: sum(items <= basket for basket in baskets) for items in missing}


@pytest.mark.parametrize(
    ("nodes", "options"),
    [
        (2, {"algorithm": "npa"}),
        (3, {"algorithm": "hpa", "exchange": "plain"}),
        (4, {"algorithm": "hpa", "exchange": "combined", "memory": "1MiB"}),
        (5, {"algorithm": "hpa", "exchange": "frequent"}),
        (2, {"algorithm": "hpa-eld", "exchange": "plain"}),
    ],
)
def test_nodes_as_pyfim(folder: Path, lists: list[list[int]], nodes: int, options: dict[str, Any]) -> None:
    found = incast.mine(folder / DATA, 0.002, nodes=nodes, **options)
    assert flat(found) == by_pyfim(lists, found.minimum)
