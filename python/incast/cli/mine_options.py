"""Options of `incast mine`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incast.cli.common import option as _of
from incast.mining.output import FORMATS
from incast.mining.request import KINDS

_FIND, _MACHINE, _NODES, _RESULT = "What to find", "Machine", "Nodes", "Result"


Transactions = Annotated[
    Path,
    typer.Argument(
        metavar="TRANSACTIONS",
        help="A text file, one transaction per line, items as numbers with blanks between (also .gz, "
        ".zst); or a table with the columns transaction and item (.parquet, .csv, .csv.gz).",
    ),
]
Support = Annotated[
    str,
    _of(_FIND, "Minimum share of the transactions of a large itemset, like 0.7%.", metavar="SHARE"),
]
Confidence = Annotated[
    str | None,
    _of(
        _FIND,
        "Minimum confidence of rules, like 60%; default: no rules.",
        metavar="SHARE",
    ),
]
Longest = Annotated[int | None, _of(_FIND, "Most items in an itemset; default: any number.")]
Only = Annotated[str, _of(_FIND, f"Itemsets to keep: {', '.join(KINDS)}.", metavar="KIND")]
Memory = Annotated[
    str | None,
    _of(
        _MACHINE,
        "For transactions, candidates, their counts and bitmaps; when they need more, transactions are "
        "scanned several times, from a temporary file if need be. Default: 256MiB.",
        metavar="SIZE",
    ),
]
Threads = Annotated[int, _of(_MACHINE, "Threads that count; the result is the same.")]
Nodes = Annotated[
    int | None,
    _of(_NODES, "Mine on this many nodes, one process each, with parts of the transactions."),
]
Cluster = Annotated[
    str | None,
    _of(
        _NODES,
        "Nodes are the nodes of a Ray cluster: ray://HOST:PORT, auto or local.",
        metavar="CLUSTER",
    ),
]
Algorithm = Annotated[
    str | None,
    _of(
        _NODES,
        "How candidates are shared out: hpa (by a hash, default), npa (all at each node), hpa-eld.",
        metavar="NAME",
    ),
]
Exchange = Annotated[
    str | None,
    _of(
        _NODES,
        "What nodes send: frequent (counts of what is so at the node, default), combined (all "
        "counts), plain (each candidate found).",
        metavar="NAME",
    ),
]
Out = Annotated[
    Path | None,
    _of(_RESULT, "Result folder; default: results/mine-<file>. A number is added if it holds a result."),
]
Form = Annotated[str, _of(_RESULT, f"Form of the tables: {', '.join(FORMATS)}.", "--format", metavar="FORM")]
Force = Annotated[bool, _of(_RESULT, "Overwrite a result of mining.", "--force")]
