"""Measures programs of others, on which the prediction was never tuned: its error as a share of the run.

    python studies/remote-memory/others.py results/remote-memory-others [--only NAME…] [-n RUNS]

SQLite, scikit-learn, pandas, Redis, Java, Node, GCC and sort, each with a task of some seconds and about a
hundred megabytes, in four cells. Inputs are made from a fixed seed. A program that is not installed is left
out and named. Run it on a machine that does nothing else; what has ended is kept, and the same command goes
on. Needs `pip install scikit-learn pandas`, and for the others Debian's sqlite3, redis, default-jdk, nodejs
and gcc.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from incast.cli.exits import Exit

_CELLS = ["--local", "30%,70%", "--latency", "5us", "--bandwidth", "10Gbps,100Gbps"]
_SEED = 1
_DRAWS = 2000


@dataclass(frozen=True)
class Program:
    """A program, and its task."""

    commands: tuple[str, ...]
    """What has to be installed."""
    prepare: Callable[[Path], list[str]]
    """Makes what it reads in a folder; how it is called."""
    module: str | None = None
    """And of Python's modules."""


def _written(file: Path, text: str) -> str:
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
    return str(file)


def _sqlite(folder: Path) -> list[str]:
    script = """
PRAGMA journal_mode = OFF;
CREATE TABLE sale (id INTEGER PRIMARY KEY, shop INTEGER, item INTEGER, price REAL, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000)
INSERT INTO sale
SELECT i, i * 7919 % 997, i * 104729 % 50021, i % 1000 / 10.0, 'note ' || i * 31 % 65537 || hex(i) FROM n;
CREATE INDEX by_item ON sale (item, shop);
SELECT count(*), sum(a.price)
FROM sale a JOIN sale b ON a.item = b.item AND a.shop = b.shop WHERE b.id % 5 = 0;
SELECT shop, avg(price) FROM sale GROUP BY shop ORDER BY 2 DESC LIMIT 3;
DELETE FROM sale WHERE id % 3 = 0;
SELECT count(DISTINCT note) FROM sale;
"""
    return ["sqlite3", ":memory:", ".read " + _written(folder / "task.sql", script)]


def _python(code: str) -> Callable[[Path], list[str]]:
    return lambda folder: [sys.executable, _written(folder / "task.py", code)]


_SCIKIT = """
import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
random = np.random.default_rng(1)
points = random.normal(size=(60_000, 40))
classes = (points[:, :5].sum(axis=1) > 0).astype(int)
forest = RandomForestClassifier(20, random_state=1, n_jobs=1, max_depth=12).fit(points, classes)
found = KMeans(16, n_init=1, max_iter=20, random_state=1).fit(points)
print(forest.score(points, classes), round(found.inertia_))
"""

_PANDAS = """
import numpy as np
import pandas as pd
random = np.random.default_rng(1)
rows = 600_000
sales = pd.DataFrame({"shop": random.integers(0, 5000, rows), "item": random.integers(0, 40_000, rows),
                      "price": random.random(rows), "name": random.integers(0, 9999, rows).astype(str)})
items = pd.DataFrame({"item": np.arange(40_000), "kind": random.integers(0, 60, 40_000)})
both = sales.merge(items, on="item")
table = both.pivot_table(index="shop", columns="kind", values="price", aggfunc="mean")
rolled = both.sort_values(["kind", "price"])["price"].rolling(50).mean()
print(table.shape, round(rolled.sum()), both["name"].nunique())
"""

_REDIS = """
cd "$1"
redis-server --port 0 --unixsocket "$1/socket" --save "" --daemonize no --enable-debug-command yes >log 2>&1 &
until redis-cli -s socket ping 2>/dev/null | grep -q PONG; do sleep 0.02; done
redis-cli -s socket debug populate 400000 key 150
redis-cli -s socket eval 'local seed, sum = 1, 0
  for turn = 1, 400000 do
    seed = (seed * 1103515245 + 12345) % 2147483648
    sum = sum + #(redis.call("GET", "key:" .. seed % 400000) or "")
  end
  return sum' 0
redis-cli -s socket shutdown nosave
wait
"""


def _redis(folder: Path) -> list[str]:
    return ["bash", _written(folder / "task.sh", _REDIS), str(folder.resolve())]


_JAVA = """
import java.util.*;
public class Task {
    public static void main(String[] arguments) {
        Random random = new Random(1);
        Map<Integer, List<String>> kept = new HashMap<>();
        for (int each = 0; each < 1_200_000; each++)
            kept.computeIfAbsent(random.nextInt(200_000), key -> new ArrayList<>()).add("value " + each);
        long sum = 0;
        for (int turn = 0; turn < 1_000_000; turn++) {
            List<String> found = kept.get(random.nextInt(200_000));
            if (found != null) sum += found.get(turn % found.size()).hashCode();
        }
        System.out.println(sum);
    }
}
"""


def _java(folder: Path) -> list[str]:
    source = folder / "Task.java"
    if not (folder / "Task.class").exists():
        subprocess.run(["javac", "-d", str(folder), _written(source, _JAVA)], check=True)
    # A heap that is written through first does not grow by chance.
    return ["java", "-XX:+UseSerialGC", "-Xms256m", "-Xmx256m", "-cp", str(folder), "Task"]


_NODE = """
const kept = new Map();
let seed = 1;
const next = limit => (seed = (seed * 1103515245 + 12345) % 2147483648) % limit;
for (let each = 0; each < 500000; each++)
  kept.set(each, { each, name: "name " + each, list: [each, each + 1] });
let sum = 0;
for (let turn = 0; turn < 1500000; turn++) {
  const found = kept.get(next(500000));
  sum += found.list[1] + found.name.length;
}
const names = [...kept.values()].map(each => each.name).sort();
console.log(sum, names[1000]);
"""


def _node(folder: Path) -> list[str]:
    return ["node", _written(folder / "task.js", _NODE)]


def _gcc(folder: Path) -> list[str]:
    parts = [
        f"int f{at}(int *v, int n) {{ int s = {at}; for (int i = 0; i < n; i++) {{ s += v[i] * {at % 13 + 1};"
        f" if (s & {1 << at % 12}) s ^= v[(i + {at % 5}) % n];"
        f" else s -= f{max(0, at - 1)}_(s, i); }} return s; }}"
        for at in range(4000)
    ]
    heads = [
        f"static int f{at}_(int a, int b) {{ return a * {at + 3} + b / {at + 1}; }}" for at in range(4000)
    ]
    source = _written(folder / "task.c", "\n".join([*heads, *parts]))
    return ["gcc", "-O2", "-c", source, "-o", str(folder / "task.o")]


def _sort(folder: Path) -> list[str]:
    file = folder / "lines"
    if not file.exists():
        chance = random.Random(_SEED)
        file.write_text("".join(f"{chance.getrandbits(100):030x} {at}\n" for at in range(1_000_000)))
    return ["sort", "--parallel=1", "-S", "500M", "-o", str(folder / "sorted"), str(file)]


PROGRAMS = {
    "sqlite": Program(("sqlite3",), _sqlite),
    "scikit-learn": Program((), _python(_SCIKIT), "sklearn"),
    "pandas": Program((), _python(_PANDAS), "pandas"),
    "redis": Program(("redis-server", "redis-cli", "bash"), _redis),
    "java": Program(("java", "javac"), _java),
    "node": Program(("node",), _node),
    "gcc": Program(("gcc",), _gcc),
    "sort": Program(("sort",), _sort),
}


def missing(program: Program) -> list[str]:
    """What it needs and this machine lacks."""
    lacks = [each for each in program.commands if not shutil.which(each)]
    if program.module and importlib.util.find_spec(program.module) is None:
        lacks.append(program.module)
    return lacks


def main() -> None:
    """Goes through the programs, and says how far off the prediction was."""
    parser = argparse.ArgumentParser(description="Measures programs of others.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", choices=[*PROGRAMS], default=[*PROGRAMS])
    parser.add_argument("-n", "--runs", type=int, default=8, help="of each cell")
    asked = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    tables = []
    for name in asked.only:
        lacks = missing(PROGRAMS[name])
        if lacks:
            print(f"{name}: left out, as there is no {' and no '.join(lacks)} here", flush=True)
            continue
        print(name, flush=True)
        out = asked.out / name
        tables.append(measured(name, PROGRAMS[name], asked.out / "inputs" / name, out, asked.runs))
    if tables:
        cells = pl.concat(tables)
        cells.write_csv(asked.out / "others.csv")
        say(cells)


def measured(name: str, program: Program, inputs: Path, out: Path, runs: int) -> pl.DataFrame:
    """One row per cell: the prediction, the measurement, and the error as a share of the measured run."""
    inputs.mkdir(parents=True, exist_ok=True)
    grid = [sys.executable, "-m", "incast", "farmem", "grid", "--clock", "processor", "--out", str(out)]
    done = subprocess.run([*grid, *_CELLS, "-n", str(runs), "--", *program.prepare(inputs)], check=False)
    # Where some memory could not be remote, the table says how much.
    if done.returncode not in (Exit.OK, Exit.UNCOVERED):
        raise SystemExit(f"{name}: incast farmem grid ended with exit code {done.returncode}")
    not_governed = pl.read_csv(out / "runs.csv")["not_governed"].median()
    return pl.read_csv(out / "cells.csv").select(
        pl.lit(name).alias("program"),
        pl.lit(not_governed).alias("not_governed"),
        "local_bytes",
        "latency_ps",
        "bandwidth_bps",
        "runs",
        pl.col("degradation").alias("predicted"),
        "measured",
        ((1 + pl.col("degradation")) / (1 + pl.col("measured")) - 1).alias("error"),
    )


def say(cells: pl.DataFrame) -> None:
    """One line per program, and one over all of them with an interval."""
    for (name,), group in cells.group_by("program", maintain_order=True):
        errors = group["error"].to_numpy()
        print(
            f"{name}: {len(errors)} cells, off by {errors.min():+.1%} to {errors.max():+.1%} of the run, "
            f"median {np.median(abs(errors)):.1%}; {group['not_governed'][0]:.0%} could not be remote"
        )
    by_program = [
        group["error"].abs().to_numpy() for _, group in cells.group_by("program", maintain_order=True)
    ]
    low, middle, high = interval(by_program)
    print(
        f"all: median size of the error {middle:.1%} of the run's time, 95 % interval {low:.1%} to {high:.1%}"
    )


def interval(errors: list[np.ndarray]) -> tuple[float, float, float]:
    """The median of all errors, and its 95 % when programs are drawn again (cluster bootstrap)."""
    chance = np.random.default_rng(_SEED)
    drawn = chance.integers(0, len(errors), (_DRAWS, len(errors)))
    medians = [float(np.median(np.concatenate([errors[at] for at in draw]))) for draw in drawn]
    low, high = np.percentile(medians, [2.5, 97.5])
    return float(low), float(np.median(np.concatenate(errors))), float(high)


if __name__ == "__main__":
    main()
