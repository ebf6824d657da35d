"""`incast mine` as the command line shows it; what it does is in `mine_work`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from incast.cli.common import Json, told
from incast.cli.mine_work import Asked, work
from incast.mining.output import FORMATS
from incast.mining.problem import KINDS

_FIND, _MACHINE, _NODES, _RESULT = "What to find", "Machine", "Nodes", "Result"


def _of(panel: str, help_: str, *flags: str, metavar: str | None = None) -> Any:
    return typer.Option(*flags, metavar=metavar, help=help_, rich_help_panel=panel)


def mine(
    transactions: Annotated[
        Path,
        typer.Argument(
            metavar="TRANSACTIONS",
            help="A text file, a transaction a line, items as numbers with blanks between them (also .gz, "
            ".zst); or a table with the columns transaction and item (.parquet, .csv, .csv.gz).",
        ),
    ],
    support: Annotated[
        str,
        _of(_FIND, "Itemsets are large from this share of the transactions on, like 0.7%.", metavar="SHARE"),
    ],
    confidence: Annotated[
        str | None,
        _of(
            _FIND,
            "Make rules that are right in this share of cases, like 60%; default: none.",
            metavar="SHARE",
        ),
    ] = None,
    longest: Annotated[int | None, _of(_FIND, "Items of the longest itemset; default: any.")] = None,
    only: Annotated[str, _of(_FIND, f"Itemsets that are kept: {', '.join(KINDS)}.", metavar="KIND")] = "all",
    memory: Annotated[
        str | None,
        _of(
            _MACHINE,
            "For transactions, candidates, their counts and bitmaps; when they need more, transactions are "
            "scanned several times, from a temporary file if need be. Default: 256MiB.",
            metavar="SIZE",
        ),
    ] = None,
    threads: Annotated[int, _of(_MACHINE, "Threads that count; the result is the same.")] = 1,
    nodes: Annotated[
        int | None, _of(_NODES, "Mine on so many nodes: a process each, with its part of the transactions.")
    ] = None,
    cluster: Annotated[
        str | None,
        _of(
            _NODES,
            "Nodes are the nodes of a Ray cluster: ray://HOST:PORT, auto or local.",
            metavar="CLUSTER",
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        _of(
            _NODES,
            "How candidates are shared out: hpa (by a hash, default), npa (all at each node), hpa-eld.",
            metavar="NAME",
        ),
    ] = None,
    exchange: Annotated[
        str | None,
        _of(
            _NODES,
            "What nodes send: frequent (counts of what is so at the node, default), combined (all "
            "counts), plain (each candidate found).",
            metavar="NAME",
        ),
    ] = None,
    out: Annotated[Path | None, _of(_RESULT, "Result folder; default: results/mine-<file>.")] = None,
    form: Annotated[
        str, _of(_RESULT, f"Form of the tables: {', '.join(FORMATS)}.", "--format", metavar="FORM")
    ] = "parquet",
    force: Annotated[bool, _of(_RESULT, "Overwrite a result of mining.", "--force")] = False,
    as_json: Json = False,
) -> None:
    """Find large itemsets and association rules in transactions, by Apriori."""
    with told(as_json):
        work(
            Asked(
                transactions,
                support,
                confidence=confidence,
                longest=longest,
                only=only,
                memory=memory,
                threads=threads,
                nodes=nodes,
                cluster=cluster,
                algorithm=algorithm,
                exchange=exchange,
                out=out,
                form=form,
                force=force,
                as_json=as_json,
            )
        )
