"""What can be asked for, and how the rest is refused."""

from __future__ import annotations

from dataclasses import dataclass

from incast import _core
from incast.walks.problem import refuse

__all__ = ["ALGORITHMS", "EXCHANGES", "ITEM_MAX", "KINDS", "NODES_MAX", "Request", "make", "refuse", "share"]

ITEM_MAX = 2**32 - 1
"""The largest item."""
NODES_MAX = 1024
KINDS = ("all", "closed", "maximal")
ALGORITHMS = ("hpa", "npa", "hpa-eld")
EXCHANGES = ("frequent", "combined", "plain")
_DUPLICATED = 400
_MEMORY = 256 << 20
_SHARE = "a share above 0 and at most 1, like 0.007, or above 0% and at most 100%, like 0.7%"


@dataclass(frozen=True, slots=True)
class Request:
    """What to find, and with how much of the machine."""

    support: float
    """Minimum support, a share."""
    confidence: float | None
    """Minimum confidence of rules, a share; without it none are made."""
    longest: int | None
    kind: str
    memory: int
    """Bytes for the counts of candidates."""
    threads: int
    nodes: int | None = None
    """Processes that mine together; without a value, and without a cluster, this one mines."""
    cluster: str | None = None
    algorithm: str = ALGORITHMS[0]
    exchange: str = EXCHANGES[0]
    duplicated: int = 0
    """Of how many of the most frequent items hpa-eld's candidates are counted everywhere."""

    @property
    def spread(self) -> bool:
        """Several nodes mine, or one on a cluster."""
        return self.nodes is not None or self.cluster is not None


def make(
    support: str | float,
    confidence: str | float | None = None,
    *,
    longest: int | None = None,
    kind: str = "all",
    memory: str | int | None = None,
    threads: int = 1,
    nodes: int | None = None,
    cluster: str | None = None,
    algorithm: str | None = None,
    exchange: str | None = None,
) -> Request:
    """The checked request."""
    if longest is not None and longest < 1:
        refuse(f"{longest} items: at least 1 is allowed", "--longest")
    if kind not in KINDS:
        refuse(f"{kind!r}: {', '.join(KINDS)} are allowed", "--only")
    if threads < 1:
        refuse(f"{threads} threads: at least 1 is allowed", "--threads")
    _check_nodes(nodes, cluster, {"--algorithm": algorithm, "--exchange": exchange}, threads)
    return Request(
        support=share(support, "--support"),
        confidence=None if confidence is None else share(confidence, "--confidence", least=True),
        longest=longest,
        kind=kind,
        memory=_memory(memory),
        threads=threads,
        nodes=nodes,
        cluster=cluster,
        algorithm=algorithm or ALGORITHMS[0],
        exchange=exchange or EXCHANGES[0],
        duplicated=_DUPLICATED if algorithm == "hpa-eld" else 0,
    )


def _check_nodes(nodes: int | None, cluster: str | None, said: dict[str, str | None], threads: int) -> None:
    for path, allowed in (("--algorithm", ALGORITHMS), ("--exchange", EXCHANGES)):
        value = said[path]
        if value is not None and value not in allowed:
            refuse(f"{value!r}: {', '.join(allowed)} are allowed", path)
        if value is not None and nodes is None and cluster is None:
            refuse("it says what nodes do: it needs --nodes", path)
    if nodes is not None and not 1 <= nodes <= NODES_MAX:
        refuse(f"{nodes} nodes: 1 to {NODES_MAX} are allowed", "--nodes")
    if threads > 1 and (nodes is not None or cluster is not None):
        refuse("a node counts in one thread: leave it out, or take more nodes", "--threads")


def share(value: str | float, path: str, *, least: bool = False) -> float:
    """A share as people write it; `least`: 0 is allowed too."""
    text = str(value).strip()
    number = text.removesuffix("%").rstrip()
    try:
        # Read as it is written: 0.7 / 100 is not the double nearest to 0.007.
        found = float(f"{number}e-2") if text.endswith("%") and "e" not in number.lower() else float(number)
    except ValueError:
        refuse(f"{text!r}: {_SHARE} is allowed", path)
    if not (0 < found <= 1 or (least and found == 0)):
        refuse(f"{text}: {_SHARE} is allowed", path)
    return found


def _memory(value: str | int | None) -> int:
    if value is None:
        return _MEMORY
    try:
        return _core.parse_bytes(value) if isinstance(value, str) else value
    except ValueError as error:
        refuse(str(error), "--memory")
