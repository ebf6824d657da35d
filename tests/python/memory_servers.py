"""Memory servers for tests: `incast farmem serve` as a process."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from incast.farmem.run import Memory
from incast.farmem.server import MemoryServer

INCAST = [sys.executable, "-m", "incast", "farmem"]
KEY = "0123456789abcdef0123456789abcdef"
LIMIT_S = 30


def written_key(folder: Path) -> Path:
    """A key file."""
    path = folder / "key"
    path.write_text(f"{KEY}\n")
    path.chmod(0o600)
    return path


class Serving:
    """A server that runs, and what it said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr
        self.process = process
        self.port = int(process.stderr.readline().rpartition(":")[2])
        self.lines: list[str] = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(process.stderr or ()), daemon=True)
        self.reader.start()

    def memory(self, pages: int, page: int = 4096, timeout_ms: int = 60_000) -> Memory:
        server = MemoryServer("127.0.0.1", self.port, KEY.encode(), timeout_ms)
        return Memory(pages * page, 0, 0, page, server=server)

    def said(self, what: str) -> bool:
        end = time.monotonic() + LIMIT_S
        while not any(what in line for line in self.lines) and time.monotonic() < end:
            time.sleep(0.01)
        return any(what in line for line in self.lines)


@contextlib.contextmanager
def serving(
    key_file: Path, *more: str, at: str = "127.0.0.1:0", within: Sequence[str] = ()
) -> Iterator[Serving]:
    """`within` is what a command begins with that makes it run elsewhere."""
    command = [*within, *INCAST, "serve", "--listen", at, "--key-file", str(key_file), *more]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        server = None
        try:
            server = Serving(process)
            yield server
        finally:
            process.kill()
            if server:
                # It reads what is closed next.
                server.reader.join()
