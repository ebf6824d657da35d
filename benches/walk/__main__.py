"""Random walks in memory compared with PecanPy and igraph, and over sockets with the bare system calls.

`python -m benches.walk [sbm] [rmat] [sockets]`: each row is a line of bench/results.jsonl. Targets are those
of the issue that asked for walks, for one thread of a machine that has nothing else to do. The peers always
write paths: they stand beside our rows that do so too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benches.walk import sockets

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PEERS = ROOT / "bench" / "peers"
COMMAND = "python -m benches.walk"
UNIT = "M steps/CPU s"

#: Million steps per second; bytes per arc, of which less is better.
TARGETS = {
    ("sbm", "uniform"): 200.0,
    ("sbm", "restart"): 150.0,
    ("sbm", "node2vec"): 20.0,
    ("rmat", "uniform"): 45.0,
    ("rmat", "restart"): 45.0,
    ("rmat", "node2vec"): 12.0,
    ("rmat", "weighted"): 35.0,
    ("rmat", "paths"): 28.0,
    ("rmat", "bytes-an-arc"): 12.0,
    ("rmat", "weighted-bytes-an-arc"): 20.0,
}

Peers = dict[str, list[tuple[str, float]]]


def program(crate: str, example: str) -> Path:
    """A release build of our side."""
    command = ["cargo", "build", "-q", "--release", "-p", crate, "--example", example]
    subprocess.run(command, cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / example


def interpreter() -> Path:
    """One that has the peers; made on the first call."""
    python = PEERS / "bin" / "python"
    wanted = (HERE / "requirements.txt").read_text()
    done = PEERS / "installed"
    if not done.exists() or done.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
        install = ["-m", "pip", "--disable-pip-version-check", "install", "-q", "-r"]
        subprocess.run([str(python), *install, str(HERE / "requirements.txt")], check=True)
        done.write_text(wanted)
    return python


def theirs(steps: Path, graph: str) -> Peers:
    """The peers' rates by case."""
    found: Peers = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph"
        subprocess.run([str(steps), "export", graph, str(file)], check=True)
        command = [str(interpreter()), str(HERE / "peers.py"), str(file)]
        one_thread = os.environ | {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=one_thread, check=True, capture_output=True, text=True)
    for text in done.stdout.splitlines():
        row = json.loads(text)
        found.setdefault(row["case"], []).append((row["peer"], row["rate"]))
    return found


def record(graph: str, case: str, value: float, peer: tuple[str, float] | None) -> dict[str, object]:
    """A line of bench/results.jsonl."""
    memory = case.endswith("bytes-an-arc")
    target = TARGETS.get((graph, case))
    met = None if target is None else (value <= target if memory else value >= target)
    return {
        "bench": "walk",
        "case": f"{graph} {case}",
        "metric": "memory an arc" if memory else "steps",
        "unit": "B" if memory else UNIT,
        "ours": value,
        "peer": peer[1] if peer else None,
        "peer_name": peer[0] if peer else None,
        "ratio": value / peer[1] if peer else None,
        "target": target,
        "met": met,
        "command": COMMAND,
    }


def text(row: dict[str, object]) -> str:
    """For the terminal."""
    peer = "" if row["peer"] is None else f"{row['peer_name']} {row['peer']:.3g} (x {row['ratio']:.3g})"
    verdict = "" if row["met"] is None else f"target {row['target']:g}: {'met' if row['met'] else 'MISSED'}"
    return f"{row['case']:60} {row['ours']:>8.4g} {row['unit']:14} {peer:28} {verdict}"


def in_memory(graph: str) -> Iterator[dict[str, object]]:
    """Rows of a graph."""
    steps = program("incast-walk", "steps")
    peers = theirs(steps, graph)
    done = subprocess.run([str(steps), graph], check=True, capture_output=True, text=True)
    for fields in map(str.split, done.stdout.splitlines()):
        case, value = fields[1], float(fields[2])
        for peer in peers.get(case, [None]):
            yield record(graph, case, value, peer)


def main() -> None:
    """Measures, prints and keeps."""
    (ROOT / "bench").mkdir(exist_ok=True)
    with (ROOT / "bench" / "results.jsonl").open("a") as results:
        for wanted in sys.argv[1:] or ["sbm", "rmat", "sockets"]:
            over = wanted == "sockets"
            for row in sockets.rows(program("incast-live", "walks"), COMMAND) if over else in_memory(wanted):
                print(text(row), flush=True)
                results.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
