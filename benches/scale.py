"""What a run takes by the number of hosts: `python -m benches.scale`.

A permutation in fat trees of 128 to 101,306 hosts, run by `incast run` as people run it, without its report.
Two sizes of flows tell what is paid once, in seconds and in memory, from what each packet-hop costs. The
table and the picture of docs/explanation/scale.md come from here.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benches import measure
from incast.report import charts
from incast.report.parts import Figure
from incast.report.vega import channel, layer, layered
from incast.study.page.svg import svg

EXPLANATION = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "scale.md"
PICTURE = EXPLANATION.parents[1] / "images" / "scale.svg"
MARK = "<!-- Written by `python -m benches.scale`; the next run overwrites it. -->\n"

#: Ports of a switch, and bytes of the larger flow. k³/4 hosts (Al-Fares et al. 2008).
TREES = ((8, 4_000_000), (16, 1_000_000), (32, 200_000), (40, 100_000), (52, 60_000), (74, 30_000))
#: Of the smaller flow: one packet.
SMALL = 1_000
#: Of a panel of the picture, in pixels.
HEIGHT = 300


def scenario(k: int, size: int) -> dict[str, Any]:
    """DCTCP over shallow buffers, as the other benchmarks have it."""
    return {
        "name": "tree",
        "topology": {"kind": "fat-tree", "k": k, "host_link": {"rate": "10Gbps", "delay": "1us"}},
        "switch": {
            "buffer": {"kind": "static", "limit": "150kB"},
            "queue": {"kind": "step", "threshold": "30kB"},
        },
        "host": {"tcp": {"congestion": "dctcp"}},
        "jobs": [{"name": "all", "kind": "permutation", "size": f"{size}B"}],
    }


def run(k: int, size: int, folder: Path) -> tuple[measure.Cost, int]:
    """What it cost, and its packet-hops."""
    file, out = folder / "tree.yaml", folder / "out"
    file.write_text(yaml.safe_dump(scenario(k, size)))
    command = [sys.executable, "-m", "incast", "run", str(file), "--out", str(out)]
    cost = measure.run([*command, "--threads", "1", "--no-report", "--force", "--json"])
    return cost, json.loads((out / "summary.json").read_text())["packet_hops"]


def rows() -> Iterator[dict[str, float]]:
    """One per fat tree."""
    with tempfile.TemporaryDirectory() as name:
        for k, size in TREES:
            (once, few), (all_, many) = (run(k, each, Path(name)) for each in (SMALL, size))
            yield {
                "hosts": k**3 // 4,
                "ports": 3 * k**3 // 2,
                "peak memory, MB": round(all_.rss_kib * 1.024e-3),
                "CPU time before and after, s": round(once.cpu_s, 1),
                "packet-hops": many,
                "CPU time per packet-hop, ns": round((all_.cpu_s - once.cpu_s) / (many - few) * 1e9),
            }


def table(found: list[dict[str, float]]) -> str:
    """As Markdown."""
    heads = list(found[0])
    lines = [" | ".join(heads), "|".join(" --: " for _ in heads)]
    lines += [" | ".join(f"{value:,}" for value in row.values()) for row in found]
    return "".join(f"| {line} |\n" for line in lines)


def picture(found: list[dict[str, float]]) -> str:
    """Each figure by the number of hosts, drawn as a report draws its charts."""
    panels = []
    for name in ("peak memory, MB", "CPU time before and after, s", "CPU time per packet-hop, ns"):
        log = {"type": "log", "nice": False}
        decades = {"values": [10**power for power in range(6)], "format": "~s"}
        axes = {
            "x": channel("hosts:Q", title="hosts", scale=log, axis=decades),
            "y": channel("y:Q", title=None, scale=log, axis={"tickCount": 4, "format": "~s"}),
        }
        drawn = [layer("rows", {"type": mark, "color": charts.color(0)}, axes) for mark in ("line", "point")]
        columns = {"hosts": [row["hosts"] for row in found], "y": [row[name] for row in found]}
        panels.append((name, charts.Chart(layered(drawn, HEIGHT), {"rows": columns})))
    return svg(Figure("A permutation in fat trees", tuple(panels), columns=3))


def main() -> None:
    """Prints a line of JSON per fat tree; then writes the table and the picture."""
    found = []
    for row in rows():
        print(json.dumps(row), flush=True)
        found.append(row)
    before, _, after = EXPLANATION.read_text().partition(MARK)
    _, _, after = after.lstrip("\n").partition("\n\n")
    EXPLANATION.write_text(f"{before}{MARK}\n{table(found)}\n{after}")
    PICTURE.write_text(picture(found))


if __name__ == "__main__":
    main()
