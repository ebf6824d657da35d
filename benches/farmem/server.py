"""A fault whose page is in a memory server, compared with a bare ping over the same link.

Two network namespaces are joined by a link. *Ping* (crates/sys/examples) sends as many bytes as a request for
a page has, and gets as many as its answer; nothing else. Once its two ends sleep until something comes, once
they look again and again, as both ends of remote memory do. The end that asks, and the program that faults,
have one processor; the end that answers, and the memory server, have the other. The program goes through its
pages one after the other and reads each, or reads and then writes it: then each fault also sends a page
away. Percentiles are of single answers and faults; each round measures all, and the median of rounds is kept.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testkit.namespaces import Link, Network

from benches.mine.rows import Row, record

PAGES, LOCAL_PAGES, SWEEPS = 600, 200, 10
ROUNDS = 7
PINGS = 6000
PORT = 7177
PERCENTILES = (10, 50, 90)
MOST_OF_PING = 1.3
PINGS_OF = {"block": "ping that sleeps", "spin": "ping that spins"}
FAULTS_OF = {"reads": "server, page read", "writes": "server, page read and written"}
LEFT, RIGHT = "program", "server"
INCAST = (sys.executable, "-m", "incast", "farmem")

Percentiles = list[float]
"""µs of each of `PERCENTILES`."""


def rows(examples: Path) -> Iterator[Row]:
    """Beside each of both pings."""
    left, right = sorted(os.sched_getaffinity(0))[:2]
    pings: dict[str, list[Percentiles]] = {how: [] for how in PINGS_OF}
    faults: dict[str, list[Percentiles]] = {how: [] for how in FAULTS_OF}
    with (
        Network([Link(LEFT, RIGHT)], switches=()) as network,
        tempfile.NamedTemporaryFile("w", suffix=".key") as key,
    ):
        key.write("a key of the benchmark alone, no secret\n")
        key.flush()
        ask, answer = (_on(network, host, cpu) for host, cpu in ((LEFT, left), (RIGHT, right)))
        place = f"{network.address(RIGHT)}:{PORT}"
        for _ in range(ROUNDS):
            for how, found in pings.items():
                ping = str(examples / "ping")
                with _ready([*answer, ping, "serve", place, how]):
                    found.append(_percentiles([*ask, ping, "ask", place, how, str(PINGS)]))
            for how, found in faults.items():
                serve = [*INCAST, "serve", "--listen", place, "--key-file", key.name, "--memory", "1GiB"]
                run = [*INCAST, "run", "--local", f"{LOCAL_PAGES * 4}KiB", "--server", place]
                program = [str(examples / "fault_cost"), how, str(PAGES), str(SWEEPS)]
                with _ready([*answer, *serve]):
                    found.append(_percentiles([*ask, *run, "--key-file", key.name, "--", *program]))
    for fault, case in FAULTS_OF.items():
        for ping, name in PINGS_OF.items():
            for at, percent in enumerate(PERCENTILES):
                ours, theirs = (
                    statistics.median(each[at] for each in found) for found in (faults[fault], pings[ping])
                )
                metric = f"fault, {percent}th percentile"
                yield record(case, metric, "µs", ours, (name, theirs), MOST_OF_PING * theirs, "farmem")


def _on(network: Network, host: str, cpu: int) -> list[str]:
    return [*network.enter(host), "taskset", "--cpu-list", str(cpu)]


@contextmanager
def _ready(command: list[str]) -> Iterator[None]:
    """Runs meanwhile; begins when it has said its first line."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout
        try:
            said = process.stdout.readline()
            if process.poll() is not None:
                raise RuntimeError(f"{' '.join(command)}: {said.decode()}")
            yield
        finally:
            process.terminate()


def _percentiles(command: list[str]) -> Percentiles:
    """Of nanoseconds, a line each."""
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode()}")
    cuts = statistics.quantiles([int(line) / 1000 for line in done.stdout.split()], n=100)
    return [cuts[percent - 1] for percent in PERCENTILES]
