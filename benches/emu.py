"""What emulated hosts cost, and how late their packets are in real time: `python -m benches.emu`.

It needs the kernel (`make uml`), iperf3 and ping, and root for real time. Each row is the median of some
runs of `incast run` without a report, with all that it starts, and a line of bench/results.jsonl. Targets are
those of the issue that asked for emulated hosts. A frame is a packet that a host has put on its link.
"""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from testkit.processes import children

from benches.mine.rows import Row, record, text

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "python -m benches.emu"
RUNS = 3
HOSTS = 64
OUT = "out"
BULK = """
name: bulk
topology: {{kind: single-switch, hosts: {hosts}, host_link: {{rate: {rate}, delay: 10us}}}}
switch: {{buffer: {{kind: static, limit: 1MB}}}}
host: {{kernel: {{moderation: {moderation}}}, tcp: {{congestion: {congestion}}}}}
jobs:
  - {{name: server, kind: program, hosts: "{servers}", command: iperf3 -s, done: started}}
{clients}
until: 20s
{more}
"""
CLIENT = (
    "  - {{name: c{n}, kind: program, hosts: host{n}, start: {start}, "
    "command: iperf3 -c 10.0.0.{to} {what} --json}}"
)
PINGS = """
name: pings
topology: {{kind: single-switch, hosts: {hosts}, host_link: {{rate: 1Gbps, delay: 10us}}}}
jobs:
  - {{name: idle, kind: program, hosts: host0, command: "true", done: started}}
  - {{name: pings, kind: program, hosts: "{pinging}", start: 100ms, command: ping -c 1 10.0.0.1}}
measure: {{capture: ["host1:switch0"]}}
until: 5s
"""


@dataclass
class Ran:
    """A run, and what it cost."""

    folder: Path
    cpu_s: float
    wall_s: float
    hosts_kib: list[int] = field(default_factory=list)
    """Memory of each host that no other process has too, where that was asked for."""

    @property
    def summary(self) -> dict[str, Any]:
        """What the result says."""
        return dict(json.loads((self.folder / "summary.json").read_text()))

    @property
    def frames(self) -> int:
        """Packets that hosts have sent."""
        ports = pl.read_parquet(self.folder / "ports/*.parquet")
        return int(ports.filter(pl.col("port").cast(pl.String).str.starts_with("host"))["sent_packets"].sum())

    def goodput(self, client: int) -> float:
        """What iperf3's receiver has counted, in bits per second."""
        said = json.loads((self.folder / f"guests/host{client}/c{client}.out").read_text())
        return float(said["end"]["sum_received"]["bits_per_second"])


def main() -> None:
    """Measures, prints and keeps."""
    print(f"load {os.getloadavg()[0]:.1f} at the beginning, {os.cpu_count()} processors, {RUNS} runs of each")
    (ROOT / "bench").mkdir(exist_ok=True)
    with (ROOT / "bench" / "results.jsonl").open("a") as results, tempfile.TemporaryDirectory() as place:
        for measured in rows(Path(place)):
            summary = json.loads((Path(place) / OUT / "summary.json").read_text())
            row = {**measured, "linux": summary["linux"]}
            print(text(row), row["linux"])
            results.write(json.dumps(row) + "\n")


def rows(place: Path) -> Iterator[Row]:
    """All of them."""
    yield from _exact(place)
    second = {"servers": "host1", "what": "-t 1", "congestion": "cubic", "start": "100ms"}
    yield from _bulk(place, "1 Gb/s", bulk([0], rate="1Gbps", **second), (50, 14), 941e6)
    yield from _bulk(
        place, "1 Gb/s, 20 µs", bulk([0], rate="1Gbps", moderation="20us", **second), (None, None)
    )
    tenth = {**second, "what": "-n 400M"}
    yield from _bulk(
        place, "10 Gb/s, 20 µs", bulk([0], rate="10Gbps", moderation="20us", **tenth), (12.5, None)
    )
    yield from _many(place)
    yield from _real(place)


def bulk(clients: list[int], *, rate: str, moderation: str = "0s", more: str = "", **asked: str) -> str:
    """A scenario in which each of these hosts sends to another, by iperf3."""
    lines = [
        CLIENT.format(n=n, to=n + len(clients) + 1, what=asked["what"], start=asked["start"]) for n in clients
    ]
    return BULK.format(
        hosts=2 * len(clients),
        rate=rate,
        moderation=moderation,
        congestion=asked["congestion"],
        servers=asked["servers"],
        clients="\n".join(lines),
        more=more,
    )


def run(place: Path, scenario: str, *, memory: bool = False) -> Ran:
    """Runs a scenario; processor time is of all that it starts."""
    path, out = place / "scenario.yaml", place / OUT
    path.write_text(scenario)
    command = [sys.executable, "-m", "incast", "run", str(path), "--out", str(out), "--force", "--no-report"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found: dict[int, int] = {}
    watch = threading.Thread(target=_watch, args=(process, found))
    if memory:
        watch.start()
    if (code := process.wait()) not in (0, 8):
        raise RuntimeError(f"{' '.join(command)} ended with {code}")
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if memory:
        watch.join()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Ran(out, cpu, wall, list(found.values()))


def _watch(process: subprocess.Popen[bytes], found: dict[int, int]) -> None:
    """The most memory of each host that is its own. A host is a process with others below it."""
    while process.poll() is None:
        for pid in children(process.pid):
            own = sum(_own(each) for each in [pid, *children(pid)])
            found[pid] = max(found.get(pid, 0), own)
        time.sleep(0.2)


def _own(pid: int) -> int:
    try:
        rolled = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(size) for size in re.findall(r"^Pss:\s*(\d+) kB", rolled, re.MULTILINE))


def row(
    case: str, metric: str, unit: str, value: float, target: float | None = None, asked: float | None = None
) -> Row:
    """A line; `asked` is what it ought to be."""
    peer = ("asked for", asked) if asked else (None, None)
    return {**record(case, metric, unit, value, peer, target, "emu"), "command": COMMAND}


def _exact(place: Path) -> Iterator[Row]:
    """A ping against arithmetic: 98 bytes as Ethernet counts them, twice in each direction."""
    ran = run(place, PINGS.format(hosts=2, pinging="host1"))
    said = (ran.folder / "guests/host1/pings.out").read_text()
    (found,) = re.findall(r"time=([\d.]+) ms", said)
    wire_ns = (84 + 38) * 8
    yield row("ping, 2 hosts", "round trip", "µs", float(found) * 1e3, None, (4 * wire_ns + 4 * 10_000) / 1e3)


def _bulk(
    place: Path,
    case: str,
    scenario: str,
    targets: tuple[float | None, float | None],
    goodput: float | None = None,
) -> Iterator[Row]:
    ran = [run(place, scenario) for _ in range(RUNS)]
    last, cpu = ran[-1], statistics.median(each.cpu_s for each in ran)
    yield row(case, "goodput", "b/s", last.goodput(0), None, goodput)
    yield row(case, "processor time a frame", "µs", cpu / last.frames * 1e6, targets[0])
    yield row(case, "time", "s", statistics.median(each.wall_s for each in ran), targets[1])


def _many(place: Path) -> Iterator[Row]:
    """Hosts that start, and ping one."""
    few, many = (PINGS.format(hosts=hosts, pinging=f"host[1-{hosts - 1}]") for hosts in (2, HOSTS))
    of_few = statistics.median(run(place, few).cpu_s for _ in range(RUNS))
    of_many = [run(place, many, memory=True) for _ in range(RUNS)]
    cpu = statistics.median(each.cpu_s for each in of_many)
    yield row(f"{HOSTS} hosts", "processor time a host", "s", (cpu - of_few) / (HOSTS - 2), 0.1)
    own = statistics.median(size for each in of_many for size in each.hosts_kib)
    yield row(f"{HOSTS} hosts", "memory a host", "MiB", own / 1024, 12)


def _real(place: Path) -> Iterator[Row]:
    """Four hosts that exchange 500 Mb/s in real time: how many packets are late."""
    asked = {"servers": "host[2-3]", "what": "-t 4", "congestion": "reno", "start": "500ms"}
    scenario = bulk([0, 1], rate="250Mbps", more="clock: {kind: real}", **asked)
    ran = [run(place, scenario).summary["lateness"] for _ in range(RUNS)]
    late = [each["late"] / each["packets"] for each in ran]
    yield row("real, 500 Mb/s", "later than 1 ms", "", max(late), 0.01)
    yield row("real, 500 Mb/s", "99th percentile", "ms", max(each["p99_ns"] for each in ran) / 1e6)


if __name__ == "__main__":
    main()
