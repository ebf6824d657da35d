"""The cost of a fault of `incast farmem run` beyond the wait that it injects: `python -m benches.farmem`.

`fault_cost` (crates/sys/examples) reads and writes a page after the other, or one here and one there, and has
a clock of its own.
*Floor* is the least that userfaultfd can do: a thread on the same processor that reads a fault and copies a
page. Each round measures all of it, so that other load falls on all alike. A round's figure is the tenth
percentile of short sweeps, because other load makes some longer; what is kept is the median of rounds. What
the library costs where all memory is local is the median of pairs of runs. Each row is a line of
bench/results.jsonl. How exactly compressed pages wait is measured in `packed`, what a memory server costs in
`server`. Targets are those of the issue that asked for remote memory.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from testkit import namespaces

from benches.farmem import packed, server
from benches.mine.rows import Row, record, text
from incast.farmem.run import ALL, LIBRARY, Memory, run

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "python -m benches.farmem"
PAGES, LOCAL_PAGES, SWEEPS = 600, 200, 60
ROUNDS = 7
PAIRS = 7
"""Pairs of runs with all memory local: one with the library, one without."""
DELAYS_US = (0, 1, 10, 20)
"""Total wait of a fault that fetches a page and sends one."""
SCATTERED_US = (0, 10)
SCATTERED = 101
"""Step in pages of the scattered accesses; no divisor of `PAGES`."""
NO_LIMIT_BPS = 10**15
MOST_OF_FLOOR, MOST_SLOWER, MOST_OFF = 1.25, 1.02, 0.02
FLOOR = "bare userfaultfd"
WORK = """
import hashlib
blocks = [bytes([number % 256]) * 3000 for number in range(60_000)]
print(hashlib.md5(b"".join(blocks)).hexdigest())
"""


def main() -> None:
    """Measures, prints and keeps."""
    print(f"load {os.getloadavg()[0]:.1f} at the beginning, {os.cpu_count()} processors, {ROUNDS} rounds")
    (ROOT / "bench").mkdir(exist_ok=True)
    with (ROOT / "bench" / "results.jsonl").open("a") as results:
        examples = _build()
        for row in itertools.chain(rows(examples / "fault_cost"), packed.rows(ROUNDS), _server(examples)):
            print(text(row))
            results.write(json.dumps({**row, "command": COMMAND}) + "\n")


def rows(program: Path) -> Iterator[Row]:
    """All of it."""
    floors: list[float] = []
    faults: dict[int, list[tuple[float, float]]] = {us: [] for us in DELAYS_US}
    scattered: dict[int, list[tuple[float, float]]] = {us: [] for us in SCATTERED_US}
    walls: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        floors.append(_floor(program))
        for us, found in faults.items():
            found.append(_touch(program, us))
        for us, found in scattered.items():
            found.append(_touch(program, us, SCATTERED))
        walls.extend(_pair(number) for number in range(PAIRS))
    floor = statistics.median(floors)
    for where, all_found in (("", faults), (", here and there", scattered)):
        for us, found in all_found.items():
            cost = statistics.median(took - wait for took, wait in found)
            case = f"delay {us} µs{where}"
            yield record(
                case, "a fault beside it", "µs", cost, (FLOOR, floor), MOST_OF_FLOOR * floor, "farmem"
            )
    *_, before, last = faults.values()
    more = statistics.median(a[0] - b[0] for a, b in zip(last, before, strict=True))
    asked = statistics.median(a[1] - b[1] for a, b in zip(last, before, strict=True))
    case = f"from {DELAYS_US[-2]} to {DELAYS_US[-1]} µs"
    yield record(case, "a fault takes longer by", "µs", more, ("asked for", asked), None, "farmem")
    yield record(case, "off what was asked for", "1", abs(more / asked - 1), (None, None), MOST_OFF, "farmem")
    plain = statistics.median(without for without, _ in walls)
    local = plain + statistics.median(local - without for without, local in walls)
    yield record(
        "all memory local", "wall time", "s", local, ("without", plain), MOST_SLOWER * plain, "farmem"
    )


def _build() -> Path:
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--package", "incast-sys"]
    subprocess.run([*command, "--examples"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples"


def _server(examples: Path) -> Iterator[Row]:
    why = namespaces.unavailable() or ("it takes two processors" if os.cpu_count() == 1 else None)
    if why is None:
        yield from server.rows(examples)
    else:
        print(f"no memory server: {why}")


def _floor(program: Path) -> float:
    command = [str(program), "floor", str(PAGES), str(SWEEPS)]
    return _tenth(subprocess.run(command, check=True, capture_output=True).stdout)


def _touch(program: Path, delay_us: int, step: int = 1) -> tuple[float, float]:
    """Time per page and the requested part of it, in µs; each fault fetches a page and sends one."""
    memory = Memory(LOCAL_PAGES * 4096, delay_us * 500_000, NO_LIMIT_BPS)
    with tempfile.TemporaryFile() as said:
        outcome = run([str(program), "touch", str(PAGES), str(SWEEPS), str(step)], memory, log=said)
        said.seek(0)
        return _tenth(said.read()), outcome.nominal_s / outcome.faults * 1e6


def _tenth(said: bytes) -> float:
    """The tenth percentile of the lines, each nanoseconds per page, in µs."""
    return statistics.quantiles([int(line) / 1000 for line in said.split()], n=10)[0]


def _pair(number: int) -> tuple[float, float]:
    """Without the library and with it, each of them first by turns."""
    if number % 2:
        local = _seconds(_all_local())
        return _seconds({}), local
    return _seconds({}), _seconds(_all_local())


def _seconds(variables: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", WORK], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **variables}
    )
    return time.perf_counter() - began


def _all_local() -> dict[str, str]:
    """As the launcher sets them; its own start does not count."""
    return {"LD_PRELOAD": str(LIBRARY), "INCAST_FARMEM": Memory(ALL, 0, 1).variable(Path("/nowhere"))}


if __name__ == "__main__":
    main()
