"""Options that `incast farmem run` and `grid` share: how pages are exchanged, and with which server."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from incast.farmem import options
from incast.farmem.run import ALL, Memory
from incast.farmem.server import MemoryServer, resolve
from incast.peers import parse_address, read_key

__all__ = [
    "Compress",
    "KeyFile",
    "Page",
    "PagesARequest",
    "Policy",
    "Program",
    "ReadAhead",
    "ServerAt",
    "Timeout",
]


class Codec(StrEnum):
    """How pages are compressed."""

    LZ4 = "lz4"
    ZSTD = "zstd"


def of(help_: str, metavar: str) -> Any:
    """An option of text."""
    return typer.Option(metavar=metavar, help=help_)


Program = Annotated[list[str], typer.Argument(metavar="PROGRAM ARGUMENTS…", help="The program, after --.")]
Page = Annotated[str, of("Page that is exchanged, 4KiB to 2MiB.", "SIZE")]
ReadAhead = Annotated[int, typer.Option(min=0, max=511, help="Pages fetched with the one needed.")]
PagesARequest = Annotated[
    int, typer.Option(min=1, max=512, help="Pages that share one latency; in the paper one.")
]
Policy = Annotated[
    str, of("Eviction policy: fifo, clock or lru; the last two watch a part of the pages.", "NAME")
]
Compress = Annotated[
    Codec | None,
    typer.Option(
        metavar="lz4|zstd",
        help="Compress pages in transit and where they are kept; this takes the program's time.",
    ),
]
ServerAt = Annotated[
    str | None,
    of("Remote memory is in this server (incast farmem serve), not in the program.", "HOST:PORT"),
]
KeyFile = Annotated[
    Path | None, of("The server's key; nobody else may read it. Needed with --server.", "FILE")
]
Timeout = Annotated[str, of("The program ends if the server does not answer for this long.", "TIME")]


def memory(
    page: str,
    read_ahead: int,
    pages_a_request: int,
    policy: str,
    compress: Codec | None,
    server: MemoryServer | None,
) -> Memory:
    """All of it local, at no distance: the caller says how much and how far."""
    size = options.pages(page, "--page", 4096)
    if len(size) != 1:
        options.refuse("one page size is expected", f"--page {page}")
    policies = options.policies(policy, "--policy")
    if len(policies) != 1:
        options.refuse("one policy is expected", f"--policy {policy}")
    return Memory(
        local=ALL,
        latency_ps=0,
        rate_bps=0,
        page=size[0],
        read_ahead=read_ahead,
        pages_a_request=pages_a_request,
        policy=policies[0],
        compress=compress and compress.value,
        server=server,
    )


def server_at(server: str | None, key_file: Path | None, timeout: str) -> MemoryServer | None:
    """The memory server that is meant."""
    if server is None:
        if key_file:
            options.refuse("it is a memory server's: --server says which", f"--key-file {key_file}")
        return None
    if key_file is None:
        options.refuse("the server's key is needed: --key-file", f"--server {server}")
    ip, port = resolve(*parse_address(server, "--server"))
    return MemoryServer(ip, port, read_key(key_file), options.timeout(timeout, least_ms=1))
