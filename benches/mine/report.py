"""The section of docs/benchmarks.md about mining on several nodes, from rows of `nodes`."""

from __future__ import annotations

from typing import Any

from benches.mine.nodes import BENCH, COLUMNS
from benches.run import number

NODES = """### On several nodes

The table compares `incast mine --nodes` on one machine of two cores with `incast mine` on one node with the
same memory for candidates. The figures show what nodes cost and save, not how much faster a cluster would be.
Processor time is that of all processes together; each starts its own Python, .1 s. The result is that of one
node byte for byte, or there is no row. Wall times are from a busy machine.

*Sent in pass 2* is what all nodes send together, over TCP, with the headers of messages. In plain exchange,
as in Oguchi et al., each node sends an owner every candidate that it finds in a transaction. Combined
exchange sends a count for each candidate of a node's part: the larger the part, the more it saves. Frequent
exchange sends counts only of candidates that are frequent in the part, and owners ask for what they lack: it
is exact too. The target is a tenth of the plain exchange's bytes; *times fewer* is that factor.

The last case shows the purpose of hash partitioning: 228 million candidates need 913 MB of counters, and a
node has 128 MiB. With plain exchange an owner keeps the counters of its own candidates only, so eight nodes
need one scan where one node needs seven. The price is bytes, and more processor time than seven scans in
memory take on one node. With frequent exchange, the default, a node counts all candidates over its own part
before it sends a few, so more nodes save hardly any scans. If candidates exceed the memory, scans are slow
and the network is fast, `--exchange plain` is the better choice.

"""


def section(rows: list[dict[str, Any]]) -> str:
    """One row per run; empty if nothing was measured."""
    cases: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        if row["bench"] == BENCH:
            cases.setdefault(row["case"], {})[row["metric"]] = row
    if not cases:
        return ""
    lines = [f"| case | {' | '.join(COLUMNS)} |", f"|---|{'--:|' * len(COLUMNS)}"]
    for case, found in cases.items():
        lines.append(f"| {case} | {' | '.join(_cell(found.get(metric)) for metric in COLUMNS)} |")
    return NODES + "\n".join(lines) + "\n"


def _cell(row: dict[str, Any] | None) -> str:
    """A figure, and whether it met its target."""
    if row is None:
        return "–"
    verdict = "" if row["met"] is None else (" (met)" if row["met"] else " (**missed**)")
    return f"{number(row['ours'])}{'' if row['unit'] == '1' else ' ' + row['unit']}{verdict}"
