"""How much a program had asked for at which point of its trace.

Memory becomes remote once a program has asked for more than is local; what it touched before costs nothing.
The handler's trace does not say when that would be with more local memory. So the launcher looks at the
numbers of the program's processes every millisecond while it is traced, and writes what it saw into the trace
(`Record::Asked`, crates/farmem/src/trace.rs).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

__all__ = ["Seen", "watching", "write"]

Seen = dict[Path, list[tuple[int, int]]]
"""By the file of a process's numbers: bytes of its trace, and bytes asked for by then; the latter grow."""
_EVERY_S = 0.001
_RECORD = 16
_ASKED = 6 << 60


@contextmanager
def watching(folder: Path, numbers: Callable[[Path], Mapping[str, int]]) -> Iterator[Seen]:
    """Looks at the processes of a folder until it is left."""
    seen: Seen = {}
    over = Event()

    def look() -> None:
        for file in folder.iterdir():
            if not file.suffix:
                now = numbers(file)
                asked, of = now.get("asked_bytes", 0), seen.setdefault(file, [])
                if not of or asked > of[-1][1]:
                    of.append((max(_RECORD, now.get("traced_bytes", 0)), asked))

    def watch() -> None:
        while not over.wait(_EVERY_S):
            look()

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()
        look()


def write(trace: Path, seen: list[tuple[int, int]]) -> None:
    """Puts what was seen into a trace, which is whole."""
    said = trace.read_bytes()
    parts, at = [], 0
    for position, asked in seen:
        parts += [said[at:position], struct.pack("<QQ", _ASKED, asked)]
        at = min(position, len(said))
    trace.write_bytes(b"".join([*parts, said[at:]]))
