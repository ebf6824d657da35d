"""Memory servers: `crates/memserver` keeps the pages of programs that `incast farmem run --server` runs."""

from __future__ import annotations

import hmac
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from incast import _core
from incast.errors import RunError, why

__all__ = ["Limits", "MemoryServer", "derive", "resolve", "serve"]

_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """What a memory server gives."""

    memory: int
    """Bytes for pages."""
    client_memory: int
    """How many of them one process may have."""
    connections: int
    """Processes at a time."""
    timeout_ms: int
    """How long one may be unreachable before its memory is free."""


@dataclass(frozen=True, slots=True)
class MemoryServer:
    """A memory server, as a program knows it."""

    ip: str
    port: int
    key: bytes
    """As it stands in the key file."""
    timeout_ms: int
    """How long the program waits for an answer before it ends."""


def derive(key: bytes) -> bytes:
    """The key of both ends, from what stands in the key file: 16 bytes."""
    return hmac.digest(key, b"incast farmem", "sha256")[:_KEY_BYTES]


def resolve(host: str, port: int) -> tuple[str, int]:
    """An address that needs no names. Raises `RunError` when there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RunError(f"{host}: {(error.strerror or str(error)).lower()}") from None
    ip, number = found[0][4][:2]
    return str(ip), int(number)


def serve(at: tuple[str, int], key: bytes, limits: Limits, tell: Callable[[str], None]) -> None:
    """Keeps pages until Ctrl-C or SIGTERM, and tells what happens in lines: the first says where it waits.

    Raises `RunError` when the address can't be had.
    """
    ip, port = resolve(*at)
    place = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
    bounds = (limits.memory, limits.client_memory, limits.connections, limits.timeout_ms)
    try:
        _core.farmem_serve(place, derive(key), os.urandom(_KEY_BYTES), bounds, tell)
    except OSError as error:
        raise RunError(why(error)) from None
