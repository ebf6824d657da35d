"""Options of `incast walk`. Settings of servers have no options of their own: `--set` names them by path."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incast.cli.common import option as _of
from incast.walks.request import APPS

_WALKS, _SERVERS, _RESULT = "Walks", "Servers", "Result"


Graph = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="An edge list (.txt, .txt.gz), a table with the columns source and target (.csv, .csv.gz, "
        ".parquet), compressed rows (.npz), or sbm:PARTITIONS,NODES,INSIDE,BETWEEN.",
    ),
]
App = Annotated[str, _of(_WALKS, f"What to compute from walks: {', '.join(APPS)}.", metavar="NAME")]
Start = Annotated[
    list[str], _of(_WALKS, "Begin at this node; may be repeated. Default: at every node.", metavar="NODE")
]
Walks = Annotated[
    int | None, _of(_WALKS, "Walks from each start; default: what the application's paper says.")
]
Restart = Annotated[
    float | None, _of(_WALKS, "Walks stop with this probability before each step.", metavar="P")
]
Length = Annotated[int | None, _of(_WALKS, "Walks have this many steps.")]
Return = Annotated[float | None, _of(_WALKS, "node2vec's return parameter; default: 1.", "-p", metavar="P")]
InOut = Annotated[float | None, _of(_WALKS, "node2vec's in-out parameter; default: 1.", "-q", metavar="Q")]
Weighted = Annotated[bool, _of(_WALKS, "Choose edges by weight.", "--weighted")]
Directed = Annotated[bool, _of(_WALKS, "Edges go one way.", "--directed")]
Changes = Annotated[
    str | None,
    _of(
        _WALKS,
        "Edges to change while walks run: a CSV file with the columns at, change (add or remove), "
        "source, target[, weight]; - for standard input. at is a time, like 500ms, or a number of "
        "finished walks.",
        metavar="FILE",
    ),
]
Seed = Annotated[int, _of(_WALKS, "All randomness derives from it.")]
Threads = Annotated[int | None, _of(_WALKS, "Threads in memory; default: all cores.")]
ServerCount = Annotated[
    int | None, _of(_SERVERS, "Walk on this many servers, one process each; default: in memory.")
]
Cluster = Annotated[
    str | None,
    _of(
        _SERVERS,
        "Walk on a Ray cluster, with one server per node: ray://HOST:PORT, auto or local (extra: ray).",
        metavar="ADDRESS",
    ),
]
Partition = Annotated[
    str | None,
    _of(
        _SERVERS,
        "Owners of the nodes: one server number per line, as METIS writes it; or how many "
        "nodes each server owns, like 100,100,50. Default: as many each.",
        metavar="FILE|N,N,…",
    ),
]
Settings = Annotated[
    list[str],
    _of(
        _SERVERS,
        "Change a setting of servers, like queue.max_p=0.2 or datagrams.walkers=16; may be repeated.",
        "--set",
        metavar="PATH=VALUE",
    ),
]
Metrics = Annotated[
    str | None, _of(_SERVERS, "Export metrics to Prometheus there, while walks run.", metavar="HOST:PORT")
]
Sample = Annotated[str | None, _of(_SERVERS, "Sampling interval of queues, for the report.", metavar="TIME")]
Top = Annotated[int, _of(_RESULT, "Number of nodes in tables of the best.")]
Out = Annotated[
    Path | None,
    _of(
        _RESULT, "Result folder; default: results/walk-<application>. A number is added if it holds a result."
    ),
]
Force = Annotated[bool, _of(_RESULT, "Overwrite a result of walks.", "--force")]
