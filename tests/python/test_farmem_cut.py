"""A program and its memory server, and the network between them fails: the program goes on or ends, and never reads what it did not write."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from testkit.namespaces import Network, star, unavailable

from farmem_programs import remote_memory_or_skip
from helpers import until
from memory_servers import INCAST, LIMIT_S, Serving, serving, written_key

REASON = unavailable()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

PROGRAM, SERVER = "program", "server"
PORT = 7177
WRONG = 3
CHECKS = """
import pathlib, sys
pages, said, to_end = 3000, pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
memory = bytearray(4096 * pages)
memory[::4096] = bytes(pages)
wrote = [0] * pages
for turn in range(1, 10**9):
    for touch in range(50):
        page = (turn * 50 + touch) * 1009 % pages
        at = 4096 * page
        if memory[at : at + 8] != wrote[page].to_bytes(8, "big"):
            sys.exit(WRONG)
        memory[at : at + 8] = turn.to_bytes(8, "big")
        wrote[page] = turn
    said.write_text(str(turn))
    if to_end.exists():
        break
""".replace("WRONG", str(WRONG))
"""Writes pages here and there, and looks whether they are what it wrote; a third of them is local."""


@pytest.fixture(autouse=True, scope="module")
def _allowed() -> None:
    remote_memory_or_skip()


class Program:
    """One that runs beside the server, with a network between them."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process = process
        self._said = folder / "said"
        self.to_end = folder / "to-end"

    def turns(self) -> int:
        try:
            return int(self._said.read_text() or 0)
        except FileNotFoundError:
            return 0

    def waits(self) -> bool:
        """Whether it has not gone on for half a second."""
        now = self.turns()
        time.sleep(0.5)
        return self.turns() == now

    def goes_on(self) -> None:
        now = self.turns()
        until(lambda: self.turns() > now + 2, self.process, LIMIT_S)

    def ended(self) -> tuple[int, str]:
        """Exit code, and what it said."""
        said = self.process.communicate(timeout=LIMIT_S)[1]
        return self.process.returncode, said


@contextmanager
def started(network: Network, folder: Path, timeout: str) -> Iterator[Program]:
    there = ["--server", f"{network.address(SERVER)}:{PORT}", "--key-file", str(folder / "key")]
    folder = folder / f"program-{time.monotonic_ns()}"
    folder.mkdir()
    run = [*network.enter(PROGRAM), *INCAST, "run", "--local", "4MiB", *there, "--timeout", timeout]
    command = [*run, "--", sys.executable, "-c", CHECKS, str(folder / "said"), str(folder / "to-end")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        program = Program(process, folder)
        try:
            program.goes_on()
            yield program
        finally:
            process.kill()


@contextmanager
def both(folder: Path, timeout: str, *more: str) -> Iterator[tuple[Network, Serving, Program]]:
    key_file = written_key(folder)
    with Network(star({PROGRAM: 0, SERVER: 0})) as network:
        at = f"{network.address(SERVER)}:{PORT}"
        with (
            serving(key_file, *more, at=at, within=network.enter(SERVER)) as server,
            started(network, folder, timeout) as program,
        ):
            yield network, server, program


CUTS: dict[str, Callable[[Network], None]] = {
    "at the program": lambda network: network.cut(PROGRAM),
    "at the server": lambda network: network.cut(SERVER),
    "between them": lambda network: network.forward(False),
}


@pytest.mark.parametrize("cut", CUTS)
def test_a_program_that_is_cut_off_ends_in_time_and_says_why(cut: str, tmp_path: Path) -> None:
    with both(tmp_path, "1s", "--memory", "64MiB") as (network, _, program):
        CUTS[cut](network)
        began = time.monotonic()
        code, said = program.ended()
        took = time.monotonic() - began
    assert code == 125, said
    assert "has not answered for 1000 ms (--timeout): what this process had there is lost" in said
    # The kernel gives up a connection after a quarter of an hour; the rest is a busy machine's.
    assert took < 10


def test_a_program_goes_on_after_a_short_cut(tmp_path: Path) -> None:
    with both(tmp_path, "20s", "--memory", "64MiB") as (network, _, program):
        for _ in range(2):
            network.forward(False)
            time.sleep(1)
            assert program.waits(), "it is cut off"
            network.forward(True)
            program.goes_on()
        program.to_end.touch()
        code, said = program.ended()
    assert code == 0, said


def test_a_server_gives_up_a_program_that_it_cannot_reach(tmp_path: Path) -> None:
    # The program and its interpreter have up to 16 MB there: there is no room for two.
    with both(tmp_path, "1s", "--memory", "20MiB", "--timeout", "2s") as (network, server, program):
        network.forward(False)
        assert program.ended()[0] == 125
        assert server.said("lost: "), server.lines
        network.forward(True)
        with started(network, tmp_path, "20s") as another:
            another.to_end.touch()
            code, said = another.ended()
    assert code == 0, said


@pytest.mark.parametrize("lost", ["a question", "an answer"])
def test_a_program_that_comes_back_after_it_was_given_up_ends(lost: str, tmp_path: Path) -> None:
    # A program that waits for an answer sends nothing, so that nobody tells it on its own that it was given up.
    with both(tmp_path, "60s", "--memory", "64MiB", "--timeout", "2s") as (network, server, program):
        if lost == "an answer":
            server.process.send_signal(signal.SIGSTOP)
            until(program.waits, program.process, LIMIT_S)
        network.forward(False)
        server.process.send_signal(signal.SIGCONT)
        assert server.said("lost: "), server.lines
        network.forward(True)
        code, said = program.ended()
    assert code == 125, said
    assert "the memory server at" in said
    assert "what this process had there is lost" in said
