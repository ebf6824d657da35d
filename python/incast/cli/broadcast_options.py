"""Options that commands on real hosts share: how members are started there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incast._core import BROADCAST_PATIENCE_PS
from incast.broadcast.shell import PROGRAM, SSH
from incast.cli.common import in_seconds
from incast.quantity import format_time

PATIENCE = format_time(BROADCAST_PATIENCE_PS)
PANEL = "How hosts are started"

To = Annotated[
    Path | None,
    typer.Option(
        metavar="HOSTS",
        help="Receivers: a file with one line per host: HOST, USER@HOST, ssh://USER@HOST:PORT, or "
        "HOST:PORT of an agent.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Instead of --to: all nodes of a Ray cluster receive: ray://HOST:PORT, or auto (extra: ray).",
    ),
]
Rsh = Annotated[
    str | None,
    typer.Option(
        metavar="COMMAND",
        help=f"Start agents with it; {{host}} stands for the host. Default: {SSH}",
        rich_help_panel=PANEL,
    ),
]
Program = Annotated[
    str | None,
    typer.Option(
        "--incast",
        metavar="COMMAND",
        help=f"This program's path on the hosts; default: {PROGRAM}.",
        rich_help_panel=PANEL,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The key of waiting agents.", rich_help_panel=PANEL),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="IP",
        help="Address where hosts reach this machine; default: automatic.",
        rich_help_panel=PANEL,
    ),
]
Patience = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="A host that is silent for longer has failed.",
        rich_help_panel=PANEL,
    ),
]


def patience_s(said: str) -> float:
    """The seconds of `--patience`."""
    return in_seconds(said, "--patience", "1s", "24h")
