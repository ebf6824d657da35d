"""`incast mine`: large itemsets and rules in transactions.

Most small files are mined in less time than libraries for frames and
for tables take to load: neither is needed here.
"""

from __future__ import annotations

import json
from typing import Any

from incast import _core, text
from incast.cli import mine_options as options
from incast.cli.common import Json, place_of, told
from incast.cli.mine_view import View
from incast.cli.plain import plain, plain_line
from incast.folder import MINE_MARKER
from incast.mining import output
from incast.mining.passes import KEPT_PASSES
from incast.mining.request import make, refuse
from incast.mining.result import MineResult
from incast.mining.run import run
from incast.recording import Recording
from incast.stop import Interrupted

_TOP = 10


def mine(
    transactions: options.Transactions,
    support: options.Support,
    confidence: options.Confidence = None,
    longest: options.Longest = None,
    only: options.Only = "all",
    memory: options.Memory = None,
    threads: options.Threads = 1,
    nodes: options.Nodes = None,
    cluster: options.Cluster = None,
    algorithm: options.Algorithm = None,
    exchange: options.Exchange = None,
    out: options.Out = None,
    form: options.Form = "parquet",
    force: options.Force = False,
    as_json: Json = False,
) -> None:
    """Find large itemsets and association rules in transactions, by Apriori."""
    with told(as_json):
        request = make(
            support,
            confidence,
            longest=longest,
            kind=only,
            memory=memory,
            threads=threads,
            nodes=nodes,
            cluster=cluster,
            algorithm=algorithm,
            exchange=exchange,
        )
        if form not in output.FORMATS:
            refuse(f"{form!r}: {', '.join(output.FORMATS)} are allowed", "--format")
        place = place_of(out, f"mine-{transactions.name.partition('.')[0]}", force)
        output.check_free(place, force)
        _core.return_blocks()
        with Recording(place if request.spread else None, MINE_MARKER) as recording:
            try:
                with View() as view:
                    result = run(transactions, request, view, place, recording)
            except KeyboardInterrupt:
                if not (place / KEPT_PASSES).is_file():
                    raise
                raise Interrupted("the same command goes on after the finished passes.") from None
            summary = output.write(result, place, form)
            recording.keep(*output.RECORDED)
        if as_json:
            print(json.dumps({"folder": str(place), **summary}, indent=2))
            return
        _show(result, summary)
        print(plain_line(f"Result: {place}"))


def _show(result: MineResult, summary: dict[str, Any]) -> None:
    head = ["pass", "candidates", "large", "scans"]
    rows = [[_count(each[key]) for key in head] for each in result.passes]
    if result.spread is not None:
        head += ["sent", "time"]
        for row, each in zip(rows, result.passes, strict=True):
            row += [text.size(each["sent_bytes"]), text.time(each["seconds"] * 1e12)]
    _table(head, rows)
    if result.found_rules is not None and result.found_rules.len():
        print(f"\nRules with the highest lift, of {_count(summary['rules'])}:")
        _table(["", "support", "confidence", "lift"], _best(result), left=1)
    kind = "" if result.request.kind == "all" else f"{result.request.kind} "
    least = f"in {result.minimum:,} or more of {result.transactions:,} transactions"
    print(f"\n{summary['itemsets']:,} {kind}itemsets are {least}")


def _best(result: MineResult) -> list[list[str]]:
    def side(items: list[int]) -> str:
        return " ".join(str(item if result.names is None else result.names[item]) for item in items)

    assert result.found_rules is not None
    return [
        [f"{side(antecedent)} → {side(consequent)}", f"{support:.2%}", f"{confidence:.0%}", f"{lift:.3g}"]
        for antecedent, consequent, support, confidence, lift in result.found_rules.best(_TOP)
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
