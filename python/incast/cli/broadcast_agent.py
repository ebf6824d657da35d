"""`incast broadcast agent`: the other end of a broadcast, on a host that receives.

It waits for weeks on hosts that have better uses for their memory, so it loads little.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incast.broadcast.agent import join, serve
from incast.cli.common import told
from incast.cli.exits import Exit
from incast.errors import Problem, ScenarioError
from incast.live.control import place
from incast.peers import parse_address, read_key


def agent(
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Wait there for broadcasts. Default: join the one described on "
            "standard input, as `incast broadcast` does by ssh.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The key that senders have too; nobody else may read it."),
    ] = None,
    root: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="With --listen: files are written only below this folder."),
    ] = Path(),
) -> None:
    """Receive: wait for broadcasts, or take part in one."""
    if listen is None:
        raise typer.Exit(join())
    with told(False):
        ip, port = parse_address(listen, "--listen")
        if key_file is None:
            raise ScenarioError(
                [Problem("it is needed: without a key anybody could send files here", "--key-file")]
            )
        key = read_key(key_file)
        folder = root.resolve()
        if not folder.is_dir():
            raise ScenarioError([Problem(f"{root} is no folder", "--root")])
        try:
            serve(
                ip,
                port,
                key,
                folder,
                lambda at: typer.echo(f"Waiting at {place(at)}", err=True),
            )
        except KeyboardInterrupt:
            raise typer.Exit(Exit.INTERRUPTED) from None
