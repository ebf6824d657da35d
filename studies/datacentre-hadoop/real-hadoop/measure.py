"""Runs TeraSorts under several delays towards the compute nodes and writes a row a run.

    python measure.py ROOT results.csv [--delays 0,100,200] [--maps 2] [--runs 3] [--frameworks mapreduce,tez]

ROOT holds `lib` with the jars; everything else is written there. Tasks are of the size of a node, so that
only two run at a time, neither on the node of the application master: twice as many maps are twice as many
waves.
"""

import argparse
import csv
import os
import re
from pathlib import Path

from cluster import Cluster
from settings import FRAMEWORKS
from timeline import phases

SHELL = "org.apache.hadoop.fs.FsShell"
TERASORT = "org.apache.hadoop.examples.terasort.TeraSort"
NODES, SLOTS = 3, 2
ROW = 100


def load(cluster: Cluster, maps: int, rows: int) -> str:
    """Puts a file a map into HDFS: rows of 10 random bytes and 90 others, as TeraGen's."""
    folder = cluster.root / f"input-{maps}"
    folder.mkdir(exist_ok=True)
    for n in range(maps):
        (folder / f"part-{n}").write_bytes(
            b"".join(os.urandom(10) + b"." * (ROW - 12) + b"\r\n" for _ in range(rows))
        )
    cluster.hadoop(SHELL, "-put", str(folder), f"/input-{maps}", log=cluster.logs / "put.log")
    return f"/input-{maps}"


def job(cluster: Cluster, framework: str, source: str, name: str) -> str:
    """Runs one, and says its number."""
    size = 1024 * SLOTS
    settings = {
        "mapreduce.framework.name": FRAMEWORKS[framework],
        "mapreduce.job.reduces": 1,
        "mapreduce.map.memory.mb": size,
        "mapreduce.reduce.memory.mb": size,
        "mapreduce.map.speculative": "false",
        "mapreduce.reduce.speculative": "false",
    }
    log = cluster.logs / f"job-{name}.log"
    cluster.hadoop(
        TERASORT, *(f"-D{key}={value}" for key, value in settings.items()), source, f"/out-{name}", log=log
    )
    return re.search(r"application_\d+_\d+", log.read_text())[0]  # type: ignore[index]


def main() -> None:
    """All jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("csv", type=Path)
    parser.add_argument("--delays", default="0,100,200", help="ms")
    parser.add_argument("--maps", default="2")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--frameworks", default="mapreduce,tez")
    parser.add_argument("--rows", type=int, default=100, help="of 100 bytes in a map's input")
    a = parser.parse_args()
    with Cluster(a.root, data_nodes=2, compute_nodes=NODES, slots=SLOTS) as cluster:
        cluster.hadoop(SHELL, "-mkdir", "-p", "/logs", "/tmp", log=cluster.logs / "mkdir.log")
        sources = {int(maps): load(cluster, int(maps), a.rows) for maps in a.maps.split(",")}
        frameworks = a.frameworks.split(",")
        for framework in frameworks:
            job(cluster, framework, sources[min(sources)], f"warm-{framework}")
        for run in range(1, a.runs + 1):
            for delay in a.delays.split(","):
                for framework in frameworks:
                    for maps, source in sources.items():
                        measure(cluster, a.csv, framework, maps, source, int(delay), run)


def measure(
    cluster: Cluster, out: Path, framework: str, maps: int, source: str, delay: int, run: int
) -> None:
    """One job, one row."""
    name = f"{framework}-{maps}-{delay}-{run}"
    cluster.set_delay(delay / 1000)
    try:
        app = job(cluster, framework, source, name)
        cluster.await_end(app)
    finally:
        cluster.set_delay(0)
    row: dict[str, object] = {"framework": framework, "maps": maps, "delay_ms": delay, "run": run}
    row |= {phase: round(seconds, 3) for phase, seconds in phases(app, cluster.root, framework).items()}
    new = not out.exists()
    with out.open("a", newline="") as file:
        writer = csv.DictWriter(file, row)
        if new:
            writer.writeheader()
        writer.writerow(row)
    print(name, app, row["total"], flush=True)


if __name__ == "__main__":
    main()
