"""Traces of page faults, written here by the form that crates/farmem/src/trace.rs describes."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

READ, WRITE, FREE, PASS = 1, 2, 3, 4


def header(page_bits: int = 12, policy: int = 0, writes: bool = True, capacity: int = 64) -> bytes:
    return struct.pack("<8sBBBBI", b"INCFMT01", page_bits, policy, writes, 0, capacity)


def record(kind: int, page: int, pages: int = 1, ns: int = 1000, thread: int = 0) -> bytes:
    return struct.pack("<QII", page | thread << 52 | kind << 60, ns, pages)


def asked(bytes_: int) -> bytes:
    return struct.pack("<QQ", 6 << 60, bytes_)


def scans(pages: int, times: int, ns: int = 1000) -> Iterable[bytes]:
    """All pages written one after the other, several times."""
    return (record(WRITE, 1000 + page, ns=ns) for _ in range(times) for page in range(pages))


def write(path: Path, records: Iterable[bytes]) -> Path:
    path.write_bytes(header() + b"".join(records))
    return path
