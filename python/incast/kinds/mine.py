"""Mining: transactions, real or known by their amounts, and what work on them costs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from incast.lab.base import Kind, Model, Probability
from incast.quantity import PositiveSize, Time

_Mean = Annotated[float, Field(ge=1, le=1000)]
_Pool = Annotated[int, Field(ge=1, le=10_000_000)]
_Many = Annotated[int, Field(ge=0, lt=2**53)]


class QuestTransactions(Kind):
    """Made up from the seed as in Agrawal & Srikant 1994; the letters are theirs."""

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
    """Mean share of a pattern's items that are also the previous one's."""
    confidence: Annotated[float, Field(gt=0, le=1)] = 0.75
    """Mean probability that a pattern loses no more items when it is put into a transaction."""
    deviation: Probability = 0.1
    """Standard deviation of that probability over patterns."""


class FileTransactions(Kind):
    """From a file: a transaction a line, its items as numbers with blanks between them."""

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
    """Things sent to the owners of candidates; without a value as many as were found."""
    entry_size: Annotated[int, Field(ge=1, le=64)] | None = None
    """Bytes of such a thing; without a value four for each item, in pass 1 eight."""
    scans: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Times that the transactions are gone over."""


class ProfileTransactions(Kind):
    """No transactions: how many there are, and what a real run or a document says of its passes."""

    kind: Literal["profile"] = "profile"
    count: Annotated[int, Field(ge=1, lt=2**32 - 1)]
    """Transactions."""
    items: Annotated[int, Field(ge=1, lt=2**53)]
    """Items of all of them."""
    passes: Annotated[list[MinePass], Field(min_length=1, max_length=1000)]
    """From pass 1 on."""


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
    """Transactions come from the host's disk, in each scan anew."""
    io: PositiveSize = "64KiB"
    """So much is read at a time, and worked on."""
    variation: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """A node's times differ from these by up to this part, drawn for each pass."""


MineTransactions = Annotated[
    QuestTransactions | FileTransactions | ProfileTransactions, Field(discriminator="kind")
]
