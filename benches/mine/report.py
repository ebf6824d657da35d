"""The sections of docs/benchmarks.md about mining, from rows of `rows` and `nodes`."""

from __future__ import annotations

import textwrap
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


def when(rows: list[dict[str, Any]]) -> str:
    """When and on what each case was measured."""
    runs: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        cases = runs.setdefault((row["date"], row["machine"]), [])
        if row["case"] not in cases:
            cases.append(row["case"])
    said = [f"- On {date}, on {machine}: {'; '.join(cases)}." for (date, machine), cases in runs.items()]
    lines = [textwrap.fill(each, 110, subsequent_indent="  ") for each in said]
    return "Measured:\n\n" + "\n".join(lines) + "\n\n"


def refreshed(document: str, rows: list[dict[str, Any]], head: str, table: str) -> str:
    """The document with a new section of one node: `table` is of `rows`, and rows of other cases stay."""
    before, _, rest = document.partition("## Mining\n")
    old, _, behind = rest.partition("### On several nodes\n")
    measured = {row["case"] for row in rows}
    lines = [line for line in old.splitlines() if line.startswith("| ")][1:]
    stay = [f"{line}\n" for line in lines if line.split("|")[1].strip() not in measured]
    earlier = ["- Other cases: on earlier days.\n"] if stay else []
    head = f"{head}{when(rows).rstrip()}\n{''.join(earlier)}\n"
    return "".join([before, head, f"{table}\n", *stay, "\n### On several nodes\n", behind])


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
