"""`incast farmem run --compress`: the same contents in fewer bytes, which is what is waited for; and whose time it takes."""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest
from typer.testing import CliRunner

from farmem_programs import remote_memory_or_skip
from incast.cli.app import app
from incast.farmem.run import Memory, Outcome, run
from incast.farmem.server import MemoryServer

STRESS = Path(__file__).parent / "farmem_stress.py"
KEY = "0123456789abcdef0123456789abcdef"
CODECS = ("lz4", "zstd")
LATENCY_PS, RATE = 20_000_000, 10**10
NEAR = Memory(4 << 20, LATENCY_PS, RATE)
CONTENTS = {
    "zeros": "numpy.zeros(n)",
    "integers": "numpy.arange(n)",
    "floats": "numpy.sin(numpy.arange(n) / 100)",
    "noise": "numpy.random.default_rng(1).random(n)",
    "text": "numpy.frombuffer((b'remote memory behind a local page cache; ' * (n // 5))[: 8 * n], float).copy()",
}
"""2.4 MB each, in float64 or int64."""


@pytest.fixture(autouse=True, scope="module")
def _allowed() -> None:
    remote_memory_or_skip()


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "key"
    path.write_text(f"{KEY}\n")
    path.chmod(0o600)
    return path


@contextlib.contextmanager
def serving(key_file: Path, memory: str) -> Iterator[int]:
    """The port of a server."""
    command = ["-m", "incast", "farmem", "serve", "--listen", "127.0.0.1:0", "--key-file", str(key_file)]
    with subprocess.Popen(
        [sys.executable, *command, "--memory", memory], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        try:
            yield int(process.stderr.readline().rpartition(":")[2])
        finally:
            process.kill()


@pytest.fixture(scope="module")
def port(key_file: Path) -> Iterator[int]:
    with serving(key_file, "1GiB") as found:
        yield found


def there(port: int, local: int, page: int = 4096, read_ahead: int = 0) -> Memory:
    return Memory(local, 0, 0, page, read_ahead, server=MemoryServer("127.0.0.1", port, KEY.encode(), 20_000))


def python(code: str, memory: Memory) -> Outcome:
    return run([sys.executable, "-c", code], memory)


@pytest.fixture(scope="module")
def plain() -> bytes:
    return subprocess.run([sys.executable, STRESS, "1"], check=True, capture_output=True).stdout


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "memory",
    [
        Memory(3000 * 4096, 1_000_000, 10**11, read_ahead=7, pages_a_request=8),
        Memory(300 << 16, 1_000_000, 10**11, 65536, policy="lru"),
        Memory(24 << 21, 1_000_000, 10**11, 2 << 20),
    ],
)
def test_what_a_program_sees_is_what_it_wrote(
    memory: Memory, codec: str, plain: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome = run([sys.executable, str(STRESS), "1"], replace(memory, compress=codec))
    said = capfd.readouterr()
    assert outcome.exit_code == 0, said.err
    assert said.out.encode() == plain
    assert outcome.faults > 10


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("pages", "page", "read_ahead"), [(3000, 4096, 7), (300, 65536, 0), (24, 2 << 20, 1)]
)
def test_a_server_gives_it_back(
    port: int,
    codec: str,
    pages: int,
    page: int,
    read_ahead: int,
    plain: bytes,
    capfd: pytest.CaptureFixture[str],
) -> None:
    memory = replace(there(port, pages * page, page, read_ahead), compress=codec)
    outcome = run([sys.executable, str(STRESS), "1"], memory)
    said = capfd.readouterr()
    assert outcome.exit_code == 0, said.err
    assert said.out.encode() == plain
    assert outcome.processes == 5  # Two children, and a child of each.


def kept(content: str) -> str:
    """A program that looks at its array after it has left, and after it was changed there."""
    return f"""
import hashlib, numpy
n = 300_000
data = {content}
first = hashlib.sha256(data).hexdigest()
other = bytearray(b"7" * 12_000_000)
assert hashlib.sha256(data).hexdigest() == first
data[::512] += 1
changed = hashlib.sha256(data).hexdigest()
other[::4096] = b"8" * len(other[::4096])
assert hashlib.sha256(data).hexdigest() == changed
data[::512] -= 1
assert numpy.allclose(data, {content}, rtol=1e-6, equal_nan=True)
"""


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", CONTENTS)
def test_contents_of_each_kind_come_back(kind: str, codec: str, port: int) -> None:
    # On a busy machine a server takes long to answer: noise and text go each way that pages can.
    near = replace(NEAR, local=12 << 20)
    for memory in (near, there(port, near.local)) if kind in {"noise", "text"} else (near,):
        outcome = python(kept(CONTENTS[kind]), replace(memory, compress=codec))
        assert outcome.exit_code == 0
        assert outcome.compression
        # There is the other array, too, which packs well.
        assert outcome.compression_ratio
        assert outcome.compression_ratio > (2 if kind in {"zeros", "text"} else 1)
        assert outcome.compression.plain_bytes_in == outcome.pages_in * 4096


@pytest.mark.parametrize("codec", CODECS)
def test_the_wait_is_for_the_bytes_that_travel(codec: str) -> None:
    outcome = python("b = bytearray(b'1' * 8_000_000); b[::4096] = b[1::4096]", replace(NEAR, compress=codec))
    assert outcome.compression
    assert outcome.bytes_out < outcome.compression.plain_bytes_out / 4
    requests, bytes_ = outcome.pages_in + outcome.pages_out, outcome.bytes_in + outcome.bytes_out
    assert outcome.nominal_s == pytest.approx(requests * LATENCY_PS / 1e12 + bytes_ * 8 / RATE, rel=1e-6)
    assert outcome.compression.compress_us_a_page
    assert outcome.compression.decompress_us_a_page
    assert outcome.own_s > outcome.compression.compress_s + outcome.compression.decompress_s


def test_without_it_pages_are_whole() -> None:
    outcome = python("b = bytearray(b'1' * 4_000_000); b[::4096] = b[1::4096]", NEAR)
    assert outcome.compression is None
    assert outcome.compression_ratio is None
    assert (outcome.bytes_in, outcome.bytes_out) == (outcome.pages_in * 4096, outcome.pages_out * 4096)


def test_what_nobody_wrote_to_is_not_compressed_again() -> None:
    code = "b = bytearray(b'1' * 8_000_000); [sum(b[::4096]) for _ in range(9)]"
    outcome = python(code, replace(NEAR, compress="lz4"))
    assert outcome.compression
    assert outcome.compression.decompressed_pages > 10_000
    assert outcome.compression.compressed_pages < outcome.compression.decompressed_pages / 3


def test_the_process_keeps_less(tmp_path: Path) -> None:
    used = []
    for codec in (None, "lz4"):
        said = tmp_path / str(codec)
        code = (
            "b = bytearray(b'1' * 60_000_000); import pathlib; "
            f"pathlib.Path({str(said)!r}).write_text(pathlib.Path('/proc/self/status').read_text())"
        )
        assert python(code, replace(NEAR, compress=codec)).exit_code == 0
        used.append(int(said.read_text().split("VmHWM:")[1].split()[0]))
    assert used[1] < used[0] / 2


def test_a_server_keeps_less(key_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(key_file, "4MiB") as port:
        code = "b = bytearray(b'1' * 16_000_000); assert b[::4096] == b'1' * 3907"
        assert python(code, there(port, 1 << 20)).exit_code == 125
        assert "is full" in capfd.readouterr().err
        assert python(code, replace(there(port, 1 << 20), compress="zstd")).exit_code == 0


class Tampering(threading.Thread):
    """Between a program and its server: what the server says of pages is changed."""

    def __init__(self, port: int, change: str) -> None:
        super().__init__(daemon=True)
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self._server, self._change = port, change

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        self.join()
        self._door.close()

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := client.recv(1 << 16):
                server.sendall(said)
        # What reads its answers ends too, and closes both.
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with server, client, server.makefile("rb") as said, contextlib.suppress(OSError, struct.error):
            client.sendall(said.read(24))
            client.sendall(said.read(16 + 32))
            while head := said.read(16):
                count = struct.unpack(">I", head[4:8])[0]
                lengths = said.read(2 * count)
                content = said.read(sum(struct.unpack(f">{count}H", lengths)))
                if len(content) < 4096 * count:
                    lengths, content = self._changed(lengths, content)
                client.sendall(head + lengths + content)

    def _changed(self, lengths: bytes, content: bytes) -> tuple[bytes, bytes]:
        return {
            "noise": (lengths, b"\xff" * len(content)),
            "nothing": (b"\0\0" + lengths[2:], content),
            "too-long": (b"\x10\x01" + lengths[2:], content),
            "cut": (b"\0\x05" + lengths[2:], content[:5]),
            "more": (lengths, content + bytes(9)),
        }[self._change]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("change", ["noise", "nothing", "too-long", "cut", "more"])
def test_what_is_no_packed_page_ends_the_program(
    port: int, codec: str, change: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code = "b = bytearray(b'1' * 4_000_000)\nfor _ in range(3): assert b[::4096] == b'1' * 977"
    with Tampering(port, change) as between:
        outcome = python(code, replace(there(between.port, 1 << 20), compress=codec))
    said = capfd.readouterr().err
    assert outcome.exit_code == 125, said
    assert "not asked for" in said
    assert "Error" not in said, "nothing wrong was read"


def test_the_command_says_what_it_saves() -> None:
    words = ["farmem", "run", "--local", "1MiB", "--latency", "1us", "--bandwidth", "100Gbps"]
    program = ["--", sys.executable, "-c", "b = bytearray(b'1' * 4_000_000); b[::4096] = b[1::4096]"]
    done = CliRunner().invoke(app, [*words, "--compress", "zstd", *program], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "compressed by zstd" in done.stderr
    assert "times smaller" in done.stderr
    assert "to decompress" in done.stderr
    done = CliRunner().invoke(app, [*words, "--compress", "gzip", *program])
    assert done.exit_code == 2
    swapped = CliRunner().invoke(
        app, [*words, "--compress", "lz4", "--backend", "swap", *program], env={"COLUMNS": "500"}
    )
    assert swapped.exit_code == 2
    assert "--backend preload" in " ".join(swapped.output.split())
