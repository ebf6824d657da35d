"""Makes ours.csv and measured.csv of what was run, prints the README's tables, and draws its pictures.

    python studies/remote-memory/report.py results/remote-memory

Without a folder, the tables and pictures are made of the two files that are kept with the study.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from charts import draw
from programs import ALGORITHMS, HERE, LIBRARIES, MODELS, SIZES
from results import LOCALS, images, measured, single
from verdicts import OURS, at, correlations, judged

MEASURED = HERE / "measured.csv"
_PUBLISHED_R = {"tensorflow": (0.830466, 0.649346), "litert": (0.717489, 0.846798)}
_KEPT = [
    "program", "local_bytes", "latency_ps", "bandwidth_bps", "runs", "measured", "degradation",
    "error_points", "spread_points", "faults", "faults_measured", "injected_over_nominal", "all_local_ps",
]  # fmt: skip


def main() -> None:
    """Reads, writes, prints, draws."""
    if len(sys.argv) > 1:
        _collect(Path(sys.argv[1]))
    grid, cells = pl.read_csv(OURS), pl.read_csv(MEASURED)
    _claims(grid)
    _matrices(grid)
    _networks(grid)
    _fits(cells)
    _errors(cells)
    draw(grid, cells)


def _collect(out: Path) -> None:
    rows = [
        row
        for algorithm in ALGORITHMS
        for size in SIZES
        for times in (1, 3)
        for row in single(out, f"{algorithm}-{size}-{times}").rows()
    ]
    rows += [
        row for library in LIBRARIES for model in MODELS for row in images(out, f"{library}-{model}").rows()
    ]
    pl.DataFrame(rows).write_csv(OURS)
    measured(out).select(_KEPT).write_csv(MEASURED, float_precision=6)


def _print(title: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    listed = list(heads)
    print(f"\n### {title}\n\n| {' | '.join(listed)} |\n|{' --- |' * len(listed)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def _claims(grid: pl.DataFrame) -> None:
    texts = {each["id"]: each["text"] for each in tomllib.loads((HERE / "claims.toml").read_text())["claim"]}
    rows = [
        (claim, texts[claim].split(". Tested")[0].rstrip("."), "holds" if holds else "does not hold", said)
        for claim, (holds, said) in judged(grid).items()
    ]
    _print("Claims", ("claim", "finding", "here", "figures"), rows)


def _said(percent: float) -> str:
    return f"{percent:.3g}" if percent < 1000 else f"{percent:,.0f}"


def _matrices(grid: pl.DataFrame) -> None:
    rows = []
    for algorithm in ALGORITHMS:
        for size in SIZES:
            for times in (1, 3):
                name = f"{algorithm}-{size}-{times}"
                own = grid.filter(program=name)
                found = [_said(at(grid, name, latency_us=us)) for us in (1, 10, 20)]
                shares = [_said(at(grid, name, local=local)) for local in list(LOCALS)[1:]]
                rows.append((algorithm, size, times, f"{own['footprint_mb'][0]:.0f}", *found, *shares))
    heads = (
        "algorithm",
        "size",
        "times",
        "MB",
        "200 MB: 1 µs",
        "10 µs",
        "20 µs",
        "10 µs: 25 %",
        "50 %",
        "75 %",
    )
    _print("Matrices, % at 40 Gb/s", heads, rows)


def _networks(grid: pl.DataFrame) -> None:
    for library in LIBRARIES:
        rows = []
        for model, figures in MODELS.items():
            name = f"{library}-{model}"
            own = grid.filter(program=name)
            found = [_said(at(grid, name, latency_us=us)) for us in (1, 10, 20)]
            shares = [_said(at(grid, name, local=local)) for local in list(LOCALS)[1:]]
            seconds, footprint = own["all_local_s"][0], own["footprint_mb"][0]
            rows.append(
                (
                    model,
                    figures.layers,
                    figures.size_mb,
                    f"{footprint:.0f}",
                    f"{seconds:.1f}",
                    *found,
                    *shares,
                )
            )
        heads = (
            "model", "layers", "MB", "in use MB", "s", "200 MB: 1 µs", "10 µs", "20 µs",
            "10 µs: 25 %", "50 %", "75 %",
        )  # fmt: skip
        _print(f"{library}, 100 images, % at 40 Gb/s", heads, rows)
    rows = []
    for library, local, without in product(LIBRARIES, LOCALS, ("", "VGG16")):
        found = correlations(grid, library, local, without)
        layers, size = found["layers"], found["size"]
        if layers.pearson is None or size.pearson is None:
            continue
        published = _PUBLISHED_R[library] if local == "200 MB" and not without else ("", "")
        rows.append(
            (library, f"{local}{', without ' + without if without else ''}", f"{layers.pearson:+.2f}",
             published[0], f"{size.pearson:+.2f}", published[1], f"{layers.spearman:+.2f}",
             f"{size.spearman:+.2f}")
        )  # fmt: skip
    heads = ("library", "local", "layers", "published", "size", "published", "layers, ranks", "size, ranks")
    _print("Correlation", heads, rows)


def _fits(cells: pl.DataFrame) -> None:
    """Pages a latency of measured cells: D = own + a·L + b·(page / B), where own is what injecting costs."""
    rows = []
    for (program, local), group in cells.group_by("program", "local_bytes", maintain_order=True):
        latency = group["latency_ps"].to_numpy() / 1e6
        wire = 4096 * 8e6 / group["bandwidth_bps"].to_numpy()
        said = group["measured"].to_numpy() * 100
        if len(said) < 4 or said.max() < 5 or not group["faults"][0]:
            continue
        (_, a, b), *_ = np.linalg.lstsq(
            np.column_stack((np.ones_like(wire), latency, wire)), said, rcond=None
        )
        rows.append((program, f"{local / 1e6:.0f}", f"{a:.2f}", f"{b:.2f}", f"{b / a:.2f}"))
    _print("Pages a latency", ("program", "local MB", "% a µs of latency", "% a µs of wire", "pages"), rows)


def _errors(cells: pl.DataFrame) -> None:
    rows = []
    for name, group in (
        ("all", cells),
        *((n, g) for (n,), g in cells.group_by("program", maintain_order=True)),
    ):
        off = group["error_points"].abs()
        relative = (off / 100 / (1 + group["measured"])).median()
        rows.append(
            (name, len(off), f"{off.median():.1f}", f"{off.max():.1f}", f"{(off <= 3).mean():.0%}",
             f"{group['spread_points'].median():.1f}", f"{relative:.1%}")
        )  # fmt: skip
    heads = ("program", "cells", "median points", "most", "within 3", "runs apart", "of the time")
    _print("Prediction against measured", heads, rows)


if __name__ == "__main__":
    main()
