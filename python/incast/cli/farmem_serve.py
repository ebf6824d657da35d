"""`incast farmem serve`: memory for programs on other hosts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from incast.cli import show
from incast.cli.common import told
from incast.farmem import options
from incast.farmem.server import Limits
from incast.farmem.server import serve as serve_memory
from incast.peers import parse_address, read_key
from incast.quantity import format_bytes


def serve(
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Wait there for programs.")],
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory for pages, like 8GiB.")],
    key_file: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The key that programs have too; nobody else may read it."),
    ],
    client_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Limit for one process. Default: all.")
    ] = None,
    connections: Annotated[int, typer.Option(min=1, max=10_000, help="Most processes at a time.")] = 256,
    timeout: Annotated[
        str,
        typer.Option(metavar="TIME", help="Frees the memory of a process that is unreachable for this long."),
    ] = "60s",
) -> None:
    """Keep pages of programs that `incast farmem run --server` runs, until Ctrl-C.

    Pages cross the network unencrypted and unauthenticated: the key only controls access.
    """
    with told(False):
        at = parse_address(listen, "--listen")
        key = read_key(key_file)
        size = options.size(memory, "--memory")
        each = size if client_memory is None else options.size(client_memory, "--client-memory")
        if each > size:
            options.refuse(
                f"at most --memory, {format_bytes(size)}, is there", f"--client-memory {client_memory}"
            )
        limits = Limits(size, each, connections, options.timeout(timeout, least_ms=1000))
        serve_memory(at, key, limits, _tell)


def _tell(line: str) -> None:
    show.err.print(f"{time.strftime('%H:%M:%S')} {line}", highlight=False, markup=False, soft_wrap=True)
