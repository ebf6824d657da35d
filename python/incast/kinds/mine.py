"""Mining of association rules: transactions, real or known by their amounts, and what work on them costs."""

from __future__ import annotations

import codecs
from typing import Annotated, Any, Literal

from pydantic import Field

from incast.kinds.job import Columns, Job, Site, Traits
from incast.lab.base import InCore, Kind, Model, Probability, Selector
from incast.lab.quantities import InBase, PositiveSize, Time
from incast.quantity import parse_whole
from incast.report.parts import Table
from incast.report.run import Run

_FILE_BYTES_MAX = 256_000_000
_ITEM_BYTES = 4
_COUNT_BYTES = 8
"""An item and its count."""
_ITEM_MAX = 2**32 - 1

_Mean = Annotated[float, Field(ge=1, le=1000)]
_Pool = Annotated[int, Field(ge=1, le=10_000_000)]
_Many = Annotated[int, Field(ge=0, lt=2**53)]


class QuestTransactions(Kind):
    """Generated from the seed as in Agrawal & Srikant 1994; the letters are theirs."""

    kind: Literal["quest"] = "quest"
    count: Annotated[int, Field(ge=1, le=20_000_000)]
    """Transactions (|D|)."""
    length: _Mean = 20.0
    """Mean items of a transaction (|T|)."""
    pattern: _Mean = 4.0
    """Mean items of a pattern (|I|)."""
    patterns: _Pool = 5000
    """Patterns (|L|)."""
    items: _Pool = 5000
    """Items (N)."""
    correlation: Probability = 0.25
    """Mean share of a pattern's items taken from the previous pattern."""
    confidence: Annotated[float, Field(gt=0, le=1)] = 0.75
    """Mean probability that a pattern loses no more items when it is put into a transaction."""
    deviation: Probability = 0.1
    """Standard deviation of that probability over patterns."""


class FileTransactions(Kind):
    """From a file: one transaction per line, items as numbers separated by blanks."""

    kind: Literal["file"] = "file"
    file: str
    """The file."""


class MinePass(Model):
    """A pass of a profile, over all nodes."""

    candidates: _Many | None = None
    """Candidates; each pass but the first has them."""
    large: Annotated[int, Field(ge=0, le=2**20)]
    """Large itemsets; 0 in the last pass only."""
    found: _Many
    """Candidates found in transactions, each as often as it is; in pass 1, items."""
    entries: _Many | None = None
    """Entries sent to the owners of candidates; without a value as many as were found."""
    entry_size: Annotated[Annotated[int, Field(ge=1, le=64)] | None, InCore("entry_bytes")] = None
    """Bytes per entry; without a value four for each item, in pass 1 eight."""
    scans: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Scans of the transactions."""

    def numbered(self, number: int) -> dict[str, Any]:
        """What the core reads of the pass of this number."""
        size = _COUNT_BYTES if number == 1 else number * _ITEM_BYTES
        said = {"entries": self.found if self.entries is None else self.entries}
        return {**self.base_units(), **said, "entry_bytes": self.entry_size or size}


class ProfileTransactions(Kind):
    """No transactions: only their number, and the passes of a real or published run."""

    kind: Literal["profile"] = "profile"
    count: Annotated[int, Field(ge=1, lt=2**32 - 1)]
    """Transactions."""
    items: Annotated[int, Field(ge=1, lt=2**53)]
    """Items of all of them."""
    passes: Annotated[list[MinePass], Field(min_length=1, max_length=1000)]
    """From pass 1 on."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: what was not said of a pass follows from its number."""
        passes = [each.numbered(number) for number, each in enumerate(self.passes, 1)]
        return {**super().base_units(), "passes": passes}


class MineCosts(Model):
    """How long things take on one core of a node."""

    transaction: Time = "0s"
    """A transaction is read."""
    item: Time = "10ns"
    """An item of it is looked at."""
    generate: Time = "10ns"
    """A candidate is found in a transaction."""
    probe: Time = "20ns"
    """A candidate that came is looked up and counted."""
    disk: bool = False
    """Transactions are read from the host's disk in each scan."""
    io: PositiveSize = "64KiB"
    """Amount that is read and processed at a time."""
    variation: Annotated[
        float, Field(ge=0, lt=1), InCore("variation_ppm"), InBase(lambda part: round(part * 1_000_000))
    ] = 0.0
    """A node's times differ from these by up to this part, drawn for each pass."""


MineTransactions = Annotated[
    QuestTransactions | FileTransactions | ProfileTransactions, Field(discriminator="kind")
]


class Mine(Job):
    """Association rules from transactions spread over nodes: Apriori, pass after pass (document 001)."""

    traits = Traits(judged="duration")
    columns = {
        "passes": Columns(
            "job host",
            "pass candidates large scans sent_bytes received_bytes begin_ps end_ps",
        ),
    }

    kind: Literal["mine"] = "mine"
    nodes: Selector = "*"
    """The hosts that mine, in order."""
    transactions: MineTransactions
    """The transactions, spread evenly over the nodes; or what is known of them."""
    support: Annotated[float, Field(gt=0, le=1)]
    """Minimum share of the transactions that contain a large itemset."""
    longest: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Most items in an itemset; without a value, any number."""
    algorithm: Literal["npa", "hpa", "hpa-eld"] = "hpa"
    """All candidates at each node, spread by a hash, or spread but for those of the most frequent items."""
    exchange: Literal["plain", "combined", "frequent"] = "plain"
    """Messages to owners of candidates: each candidate found, counts, or counts of those frequent at the
    node."""
    combine: Annotated[int, Field(ge=1, lt=2**32)] | None = None
    """With `combined`: counts over this many transactions; without a value, over all of a node's."""
    memory: PositiveSize = "64MiB"
    """Memory of a node for candidates, their counts and bitmaps; what does not fit takes more scans."""
    duplicated: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """With `hpa-eld`: candidates of this many of the most frequent items are counted everywhere."""
    block: PositiveSize = "8KiB"
    """Size of a message, 256B to 1MiB."""
    padded: bool = False
    """Messages of large itemsets are filled up to a block."""
    order: Literal["same", "rotated"] = "same"
    """A node sends to the others from the first to the last, or from the next one on."""
    costs: MineCosts = MineCosts()
    """How long things take on a node."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        if self.combine is not None and self.exchange != "combined":
            site.refuse("combine", f"exchange is {self.exchange}: only combined counts are over transactions")
        if self.duplicated and self.algorithm != "hpa-eld":
            site.refuse("duplicated", f"algorithm is {self.algorithm}: only hpa-eld duplicates candidates")
        combined = {"combined": {"transactions": self.combine}}
        said = self.settings("combine")
        if isinstance(self.transactions, FileTransactions):
            said["transactions"] = _listed(self.transactions.file, site)
        return {
            **said,
            "nodes": site.hosts(self.nodes, "nodes"),
            "support": {"share": self.support},
            "exchange": combined if self.exchange == "combined" else self.exchange,
        }

    @classmethod
    def tables(cls, run: Run) -> list[Table]:
        """What each pass found and took."""
        from incast.report.mining import passes

        return passes(run)


def _listed(name: str, site: Site) -> dict[str, Any]:
    """The transactions of a file."""
    items: list[int] = []
    ends: list[int] = []
    data = (site.read(name, "transactions.file", _FILE_BYTES_MAX) or b"").removeprefix(codecs.BOM_UTF8)
    for number, line in enumerate(data.splitlines(), 1):
        try:
            items += _line(line)
        except ValueError as error:
            site.refuse("transactions.file", f"{name}, line {number}: {error}")
            break
        ends.append(len(items))
    return {"kind": "list", "items": items, "ends": ends}


def _line(line: bytes) -> list[int]:
    """The items of a transaction, each once."""
    items = set()
    for word in line.decode("utf-8", "replace").split():
        if (item := parse_whole(word, _ITEM_MAX)) is None:
            raise ValueError(f"{word[:20]!r} is no item: 0 to {_ITEM_MAX} are")
        items.add(item)
    return sorted(items)
