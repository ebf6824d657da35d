"""`incast view`: runs played back in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from incast.cli import show
from incast.cli.common import told
from incast.errors import IncastError, ResultError, why
from incast.extras import extra


def view(
    results: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT", help="Result folders, also while they run; the page shows two in step."
        ),
    ],
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="The port of the page; default: a free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, open no browser.")
    ] = False,
) -> None:
    """Play runs back on a page: queues, pauses and drops on the network, next to the job's tasks."""
    with told(False):
        for each in results:
            if not each.is_dir():
                raise ResultError(f"{each} is not a folder" if each.exists() else f"{each} does not exist")
        with extra("view"):
            from incast.view.server import HOST, ViewServer
        try:
            server = ViewServer(results, port)
        except OSError as error:
            raise IncastError(f"port {port} of {HOST}: {why(error)}") from None
    show.out.print(f"View: {server.address}", soft_wrap=True, highlight=False)
    show.out.print("Ctrl-C ends it. Anyone who has the address can see the results, on this machine only.")
    if not no_browser:
        webbrowser.open(server.address)
    server.run()
