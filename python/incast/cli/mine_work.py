"""What `incast mine` does, and a quick way to it.

Most small files are mined in less time than the command line takes to load. So `quick` reads arguments that
are as they should be by itself; help, and whatever is unusual or wrong, is left to the command line.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from incast.cli.mine_view import View
from incast.cli.plain import plain
from incast.mining import output
from incast.mining.problem import make, refuse
from incast.mining.result import METRICS, MineResult
from incast.mining.run import run

_TOP = 10
_SHOWN = ("support", "confidence", "lift")


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments."""

    transactions: Path
    support: str
    confidence: str | None = None
    longest: int | None = None
    only: str = "all"
    memory: str | None = None
    threads: int = 1
    nodes: int | None = None
    cluster: str | None = None
    algorithm: str | None = None
    exchange: str | None = None
    out: Path | None = None
    form: str = "parquet"
    force: bool = False
    as_json: bool = False


_OTHERWISE = {"form": "--format", "as_json": "--json"}
"""Options that are not called as their fields are."""
_KINDS: dict[str, type] = {"int": int, "Path": Path, "bool": bool}
OPTIONS = {
    _OTHERWISE.get(each.name, f"--{each.name}"): (each.name, _KINDS.get(str(each.type).split()[0], str))
    for each in fields(Asked)
    if each.name != "transactions"
}
"""Options, their fields and types; those that are true or false have no value."""


def quick(arguments: Sequence[str]) -> Asked | None:
    """The arguments, where each is a known option and its value or the one file; otherwise nothing."""
    found: dict[str, Any] = {}
    left = iter(arguments)
    value: str | int | Path
    for argument in left:
        name, kind = OPTIONS.get(argument, ("", str))
        if kind is bool:
            value = True
        elif name:
            try:
                value = kind(next(left, ""))
            except ValueError:
                return None
        elif argument.startswith("-"):
            return None
        else:
            name, value = "transactions", Path(argument)
        if name in found or str(value) in ("", ".") or str(value).startswith("-"):
            return None
        found[name] = value
    return Asked(**found) if {"transactions", "support"} <= set(found) else None


def work(asked: Asked) -> None:
    """Mines, writes and shows."""
    plan = make(
        asked.support,
        asked.confidence,
        longest=asked.longest,
        kind=asked.only,
        memory=asked.memory,
        threads=asked.threads,
        nodes=asked.nodes,
        cluster=asked.cluster,
        algorithm=asked.algorithm,
        exchange=asked.exchange,
    )
    if asked.form not in output.FORMATS:
        refuse(f"{asked.form!r}: {', '.join(output.FORMATS)} are allowed", "--format")
    place = asked.out or Path("results") / f"mine-{asked.transactions.name.partition('.')[0]}"
    output.check_free(place, asked.force)
    with View() as view:
        result = run(asked.transactions, plan, view, place)
    summary = output.write(result, place, asked.form)
    if asked.as_json:
        import json

        print(json.dumps({"folder": str(place), **summary}, indent=2))
        return
    _show(result, summary)
    print(f"Result: {place}")


def _show(result: MineResult, summary: dict[str, Any]) -> None:
    head = ["pass", "candidates", "large", "scans"]
    rows = [[_count(each[key]) for key in head] for each in result.passes]
    if result.spread is not None:
        from incast.report import text

        head += ["sent", "time"]
        for row, each in zip(rows, result.passes, strict=True):
            row += [text.size(each["sent_bytes"]), text.time(each["seconds"] * 1e12)]
    _table(head, rows)
    if result.found_rules is not None and result.found_rules.len():
        print(f"\nRules with the highest lift, of {_count(summary['rules'])}:")
        _table(["", "support", "confidence", "lift"], _best(result), left=1)
    kind = "" if result.plan.kind == "all" else f"{result.plan.kind} "
    least = f"in {result.minimum:,} or more of {result.transactions:,} transactions"
    print(f"\n{summary['itemsets']:,} {kind}itemsets are {least}")


def _best(result: MineResult) -> list[list[str]]:
    rules = result.found_rules
    assert rules is not None
    measures = {
        name: array("d", each) for name, each in zip(METRICS, rules.measures(), strict=True) if name in _SHOWN
    }
    sides = [(array("Q", ends), array("I", items)) for ends, items in map(rules.itemsets, (True, False))]
    best = heapq.nsmallest(_TOP, range(rules.len()), key=lambda rule: (-measures["lift"][rule], rule))

    def side(which: int, rule: int) -> str:
        ends, items = sides[which]
        chosen = items[ends[rule - 1] if rule else 0 : ends[rule]]
        return " ".join(str(item if result.names is None else result.names[item]) for item in chosen)

    return [
        [
            f"{side(0, rule)} → {side(1, rule)}",
            f"{measures['support'][rule]:.2%}",
            f"{measures['confidence'][rule]:.0%}",
            f"{measures['lift'][rule]:.3g}",
        ]
        for rule in best
    ]


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _table(head: list[str], rows: list[list[str]], left: int = 0) -> None:
    """Plain text: what draws better tables takes longer to load than most files to mine."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in [head, *rows]:
        cells = [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print(plain("  ".join(cells).rstrip()))
