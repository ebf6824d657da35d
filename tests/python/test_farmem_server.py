"""`incast farmem serve` and `run --server`: the same memory, on another machine; whatever fails there, nothing wrong is read."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from farmem_programs import SIGNALS, Accesses, compiled, remote_memory_or_skip
from incast.cli.app import app
from incast.errors import RunError
from incast.farmem.run import Memory, Outcome, run
from memory_servers import LIMIT_S, Serving, serving, written_key

STRESS = Path(__file__).parent / "farmem_stress.py"
HOLD = "import time; data = bytearray(b'7' * 4_000_000); print('ready', flush=True); "
"""More than local memory has; then what a test does."""


@pytest.fixture(autouse=True, scope="module")
def _allowed() -> None:
    remote_memory_or_skip()


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_key(tmp_path_factory.mktemp("key"))


@pytest.fixture(scope="module")
def server(key_file: Path) -> Iterator[Serving]:
    with serving(key_file, "--memory", "1GiB") as found:
        yield found
        found.process.send_signal(signal.SIGINT)
        assert found.process.wait(LIMIT_S) == 130


@pytest.mark.parametrize("request_", [signal.SIGHUP, signal.SIGTERM])
def test_a_server_whose_terminal_is_closed_ends(key_file: Path, request_: signal.Signals) -> None:
    with serving(key_file, "--memory", "1MiB") as found:
        found.process.send_signal(request_)
        assert found.process.wait(LIMIT_S) == 130


def python(code: str, memory: Memory) -> Outcome:
    return run([sys.executable, "-c", code], memory)


@pytest.fixture(scope="module")
def plain() -> bytes:
    return subprocess.run([sys.executable, STRESS, "1"], check=True, capture_output=True).stdout


@pytest.mark.parametrize(
    ("pages", "page", "more"),
    [
        (3000, 4096, {}),
        (3000, 4096, {"read_ahead": 7}),
        (300, 65536, {}),
        (24, 2 << 20, {"read_ahead": 1}),
        (3000, 4096, {"policy": "clock"}),
        (3000, 4096, {"policy": "lru", "read_ahead": 3}),
        (300, 65536, {"policy": "lru"}),
    ],
)
def test_what_a_program_sees_is_what_it_wrote(
    server: Serving,
    pages: int,
    page: int,
    more: dict[str, Any],
    plain: bytes,
    capfd: pytest.CaptureFixture[str],
) -> None:
    memory = replace(server.memory(pages, page), **more)
    outcome = run([sys.executable, str(STRESS), "1"], memory)
    said = capfd.readouterr()
    assert outcome.exit_code == 0, said.err
    assert said.out.encode() == plain
    assert outcome.processes == 5  # Two children, and a child of each.
    assert outcome.faults > 10
    assert outcome.server_s > 0
    assert outcome.injected_s == 0


@pytest.mark.parametrize(("policy", "beyond"), [("fifo", 0.001), ("clock", 0.06), ("lru", 0.04)])
def test_a_policy_faults_as_its_cache_does(
    server: Serving, policy: str, beyond: float, tmp_path: Path
) -> None:
    accesses = Accesses(tmp_path, pages=2000, times=20_000)
    outcome = run(accesses.command, replace(server.memory(400), policy=policy))
    assert outcome.exit_code == 0
    # An eighth of local memory, at most 16 pages, is for pages that leave.
    exact = accesses.faults(400 - 16, policy)
    assert exact * 0.999 <= outcome.faults <= exact * (1 + beyond)
    assert ((outcome.soft_faults or 0) > 1000) == (policy != "fifo")


@pytest.mark.parametrize("module", ["test_list", "test_mmap", "test_fork1"])
def test_pythons_own_tests_pass(server: Serving, module: str, capfd: pytest.CaptureFixture[str]) -> None:
    if subprocess.run(
        [sys.executable, "-c", f"import test.{module}"], capture_output=True, check=False
    ).returncode:
        pytest.skip("this Python comes without its tests")
    outcome = run([sys.executable, "-m", "test", "-q", module], server.memory(3000))
    assert outcome.exit_code == 0, capfd.readouterr().out


def test_signals_come_while_a_program_forks(server: Serving, tmp_path: Path) -> None:
    assert run([str(compiled(SIGNALS, tmp_path / "signals"))], server.memory(150)).exit_code == 0


def test_a_wait_can_be_added(server: Serving) -> None:
    far = Memory(1 << 20, 5_000_000, 10**11, server=server.memory(1).server)
    outcome = python("b = bytearray(4_000_000); b[::4096] = b[1::4096]; b[::4096] = b[1::4096]", far)
    assert outcome.exit_code == 0
    assert outcome.injected_s >= outcome.nominal_s >= outcome.faults * 5e-6 > 0


def test_pages_that_nobody_wrote_to_are_not_sent_again(server: Serving) -> None:
    code = "b = bytearray(b'1' * 8_000_000); [sum(b[::4096]) for _ in range(9)]"
    outcome = python(code, server.memory(500))
    assert outcome.pages_in > 10_000
    assert outcome.pages_out < outcome.pages_in / 2


def test_memory_is_free_when_its_program_ended(key_file: Path) -> None:
    with serving(key_file, "--memory", "16MiB") as server:
        for _ in range(4):
            assert python("b = bytearray(b'1' * 5_000_000)", server.memory(250)).exit_code == 0


def test_a_server_that_is_full_says_so(key_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(key_file, "--memory", "4MiB") as server:
        assert python("b = bytearray(b'1' * 8_000_000)", server.memory(250)).exit_code == 125
        assert "larger --memory" in capfd.readouterr().err
        assert server.said("refused: the memory server is full")
        assert python("pass", server.memory(250)).exit_code == 0, "it still serves others"


def test_a_program_has_its_part_and_no_more(key_file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(key_file, "--memory", "1GiB", "--client-memory", "1MiB") as server:
        assert python("b = bytearray(b'1' * 8_000_000)", server.memory(250)).exit_code == 125
        assert "larger --client-memory" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("number", "why"), [(signal.SIGKILL, "lost"), (signal.SIGSTOP, "has not answered for 500 ms")]
)
def test_a_server_that_fails_ends_the_program(
    key_file: Path, number: signal.Signals, why: str, tmp_path: Path
) -> None:
    with serving(key_file, "--memory", "1GiB") as server:
        memory = server.memory(250, timeout_ms=500)
        log = tmp_path / "log"
        ended: list[Outcome] = []

        def work() -> None:
            with log.open("wb") as to:
                code = f"{HOLD}\nwhile True: assert data[::4096] == b'7' * 977"
                ended.append(run([sys.executable, "-c", code], memory, log=to))

        thread = threading.Thread(target=work)
        # Signals are handled in the first thread only: the run's are not wanted here.
        before = signal.signal
        try:
            signal.signal = lambda *_: signal.SIG_DFL
            thread.start()
            while not log.exists() or b"ready" not in log.read_bytes():
                assert thread.is_alive(), log.read_text()
                time.sleep(0.02)
            server.process.send_signal(number)
            thread.join(LIMIT_S)
        finally:
            signal.signal = before
        assert not thread.is_alive()
        assert ended[0].exit_code == 125
        text = log.read_text()
        assert why in text
        assert "Error" not in text, "nothing wrong was read"


def test_hostile_bytes_do_it_no_harm(server: Serving) -> None:
    for sent in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0" * 100_000,
        b"incmem\x02\x00" + b"\xff" * 1000,
        b"incmem",
        b"",
    ):
        with socket.create_connection(("127.0.0.1", server.port)) as stranger, contextlib.suppress(OSError):
            stranger.sendall(sent)
            stranger.settimeout(0.2)
            stranger.recv(1000)
    assert python("b = bytearray(b'1' * 4_000_000)", server.memory(500)).exit_code == 0
    assert server.said("another protocol")


def test_too_many_programs_are_refused(key_file: Path) -> None:
    with (
        serving(key_file, "--memory", "1GiB", "--connections", "1") as server,
        socket.create_connection(("127.0.0.1", server.port)),
    ):
        with pytest.raises(RunError, match="memory server"):
            python("pass", server.memory(250))
        assert server.said("1 connections are all")


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["farmem", *arguments], env={"COLUMNS": "500"})
    assert result.exit_code in {2, 4}, result.output
    return " ".join(result.output.split())


def test_what_cannot_be_is_refused(server: Serving, key_file: Path, tmp_path: Path) -> None:
    there = ["run", "--local", "1MiB", "--server", f"127.0.0.1:{server.port}"]
    other = tmp_path / "other"
    other.write_text("another key, as long as others")
    other.chmod(0o600)
    assert "wrong key" in refused(*there, "--key-file", str(other), "--", "true")
    other.chmod(0o644)
    assert "chmod 600" in refused(*there, "--key-file", str(other), "--", "true")
    assert "--key-file" in refused(*there, "--", "true")
    assert "--server says which" in refused(
        "run", "--local", "1MiB", "--key-file", str(key_file), "--", "true"
    )
    assert "is needed" in refused(*there, "--key-file", str(key_file), "--latency", "1us", "--", "true")
    assert "is needed" in refused("run", "--local", "1MiB", "--", "true")
    nobody = ["run", "--local", "1MiB", "--server", "127.0.0.1:1", "--key-file", str(key_file), "--", "true"]
    assert "can't be reached" in refused(*nobody)
    serve = ["serve", "--key-file", str(key_file), "--listen"]
    assert "in use" in refused(*serve, f"127.0.0.1:{server.port}", "--memory", "1MiB").lower()
    assert "from 1000ms" in refused(*serve, "127.0.0.1:0", "--memory", "1MiB", "--timeout", "1ms")
    assert "to 3600000ms" in refused(*there, "--key-file", str(key_file), "--timeout", "2h", "--", "true")
    assert "HOST:PORT" in refused(*serve, "nowhere", "--memory", "1MiB")
    assert "at most --memory" in refused(*serve, "127.0.0.1:0", "--memory", "1MiB", "--client-memory", "2MiB")
