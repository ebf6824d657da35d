"""Options of `incast broadcast FILE` that no other command has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ALGORITHMS = ("stable", "fpfr", "dijkstra", "depth-first", "random-pipeline", "flat", "near")
PLANNING = "Routes of the data"

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A file or a folder; - for standard input, which is stored on disk first."
    ),
]
Dest = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Where the copies will be; with / at its end, in that folder; {host} stands for the host. "
        "Default: the same path as here, or below the folder of a waiting agent.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing copies that differ.")]
Exclude = Annotated[
    list[str],
    typer.Option(
        metavar="PATTERN", help="Exclude what matches, as a line of .gitignore does; may be repeated."
    ),
]
Owner = Annotated[
    bool, typer.Option("--owner", help="Keep owners and groups, by number: agents must be root.")
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Only show what would go where, by which plan, and how long it takes."),
]
Rate = Annotated[
    str | None,
    typer.Option(
        metavar="RATE",
        help="Limit of what each host, this one too, sends of the file, like 50Mbps; default: none.",
    ),
]
Plain = Annotated[
    bool,
    typer.Option("--plain", help="Don't encrypt file contents: for trusted networks above 2 Gbps."),
]
Topology = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Hosts, switches and bandwidths. Default: estimated at the start; from 8 GiB on, measured.",
        rich_help_panel=PLANNING,
    ),
]
Source = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="This machine in the topology; default: its name.", rich_help_panel=PLANNING
    ),
]
Algorithm = Annotated[
    str,
    typer.Option(metavar="NAME", help=f"{', '.join(ALGORITHMS)}.", rich_help_panel=PLANNING),
]
Chunk = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Size of a chunk; default: chosen to fit.", rich_help_panel=PLANNING),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Write how it goes to this folder, for incast view; a number is added if it holds a result.",
    ),
]
