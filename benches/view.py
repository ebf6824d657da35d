"""How soon `incast view` draws a large run, and how smoothly it plays it: `python -m benches.view`.

The run is made up: a fat tree's worth of ports (1,000 and more), each sampled 10,000 times. The page is that
of `incast view`, in Chromium without a window. The first picture is measured by the page, from its navigation
on, once with the levels that the core writes next to samples and once without them. The pictures a second are
those that the page drew while it played for ten seconds.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from testkit.browsers import launched

import incast
from benches.mine.rows import Row, record, text
from benches.run import BENCH
from incast.folder import LEVELS
from incast.view.sampled import levels
from incast.view.server import ViewServer

COMMAND = "python -m benches.view"
RADIX = 16
"""Of the fat tree: 1,024 hosts and 320 switches; of its ports PORTS are sampled."""
PORTS, STEPS = 1_000, 10_000
PART_ROWS = 1 << 17
"""Of a part of a table, as the core has it."""
STEP_PS = 10_000_000
PLAYED_S = 10
STATIC = Path(incast.__file__).parent / "view" / "static"


def result(folder: Path) -> Path:
    """A run of a fat tree, whose samples are replaced by made-up ones."""
    link = {"rate": "10Gbps"}
    scenario = incast.Scenario.model_validate(
        {
            "name": "large",
            "topology": {"kind": "fat-tree", "k": RADIX, "host_link": link, "fabric_link": link},
            "jobs": [{"name": "shift", "kind": "permutation", "size": "10kB"}],
        }
    )
    made = incast.run(scenario, folder / "large").path
    (made / LEVELS).mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    ports = pl.read_parquet(made / "ports")["port"].cast(pl.String).head(PORTS)
    series = made / "ports_series"
    shutil.rmtree(series, ignore_errors=True)
    series.mkdir()
    parts = PORTS * STEPS // PART_ROWS + 1
    for part in range(parts):
        steps = np.arange(part * STEPS // parts, (part + 1) * STEPS // parts)
        count = len(steps) * PORTS
        wave = np.abs(np.sin(steps / 300)).repeat(PORTS) * np.tile(rng.random(PORTS), len(steps))
        pl.DataFrame(
            {
                "time_ps": ((steps + 1) * STEP_PS).repeat(PORTS),
                "port": pl.concat([ports] * len(steps)),
                "class": pl.repeat(None, count, dtype=pl.Int64, eager=True),
                "queue_bytes": (wave * 1e6).astype(np.int64),
                "sent_bytes": (wave * 12_500).astype(np.int64),
                "drops": (rng.random(count) < 1e-3).astype(np.int64),
                "marks": (rng.random(count) < 1e-2).astype(np.int64),
                "paused_ps": np.zeros(count, np.int64),
            }
        ).with_columns(pl.col("port").cast(pl.Categorical)).write_parquet(series / f"part-{part:05}.parquet")
    for file in series.iterdir():
        (made / LEVELS / file.name).write_bytes(levels(file, (0, 0), STEP_PS))
    levels.cache_clear()
    return made


def measured(address: str) -> dict[str, float]:
    """Milliseconds to the first picture (of totals) and to that of samples; pictures a second in play."""
    with launched() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address)
        first, samples = (
            page.wait_for_function(
                "(name) => performance.getEntriesByName(name)[0]?.startTime", arg=mark, timeout=120_000
            ).json_value()
            for mark in ("incast-network", "incast-samples")
        )
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_timeout(1000)
        before = page.evaluate("[incastView.pictures, performance.now()]")
        page.wait_for_timeout(PLAYED_S * 1000)
        after = page.evaluate("[incastView.pictures, performance.now()]")
    rate = (after[0] - before[0]) / (after[1] - before[1]) * 1000
    return {"totals": first, "samples": samples, "pictures": rate}


def rows(folder: Path) -> Iterator[Row]:
    """All of them."""
    made = result(folder)
    for case in ("with levels", "without levels"):
        if case == "without levels":
            shutil.rmtree(made / LEVELS)
        server = ViewServer([made])
        running = threading.Thread(target=server.run, daemon=True)
        running.start()
        found = measured(server.address)
        server.stop()
        running.join()
        yield row(case, "first picture, of totals", "ms", found["totals"])
        yield row(case, "first picture of samples", "ms", found["samples"])
        yield row(case, "pictures a second in play", "1/s", found["pictures"])
    yield row("any", "JavaScript", "kB", sum(file.stat().st_size for file in STATIC.glob("*.js")) / 1e3)


def row(case: str, metric: str, unit: str, value: float) -> Row:
    """A line."""
    return {**record(case, metric, unit, value, (None, None), None, "view page"), "command": COMMAND}


def main() -> None:
    """Measures, prints and keeps in bench/results.jsonl."""
    BENCH.mkdir(exist_ok=True)
    with (BENCH / "results.jsonl").open("a") as results, tempfile.TemporaryDirectory() as folder:
        for each in rows(Path(folder)):
            print(text(each))
            results.write(json.dumps(each) + "\n")


if __name__ == "__main__":
    main()
