"""The congestion window over time, ours and Linux's: the second table of docs/validation/linux.md.

`linux.py` calls this. Windows are sampled in runs of their own, because reading them takes an emulated host
some 500 ns each time. Linux's figures, and its windows where a flow is alone, are kept in linux_windows.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import mean
from typing import Any

import figures
import linux_matrix
from testkit import ours
from testkit.cases import GIGABIT, MICROSECOND, MILLISECOND, Scenario

from incast.report import charts
from incast.report.parts import Figure, numbered
from incast.report.vega import channel, layer, layered
from incast.study.page.svg import svg

KEPT = Path(__file__).with_name("linux_windows.json")
PICTURE = Path(__file__).resolve().parents[2] / "docs" / "images" / "linux-windows.svg"
#: What the picture shows.
DRAWN = ("one-flow-64/reno", "one-flow-64/cubic", "one-flow-64/dctcp")
SETTINGS = (
    "one-flow",
    "one-flow-64",
    "one-flow-64-no-hystart",
    "incast-2",
    "incast-16-ecn",
    "parking-lot",
    "rtt-1-4",
    "loss-1%",
)
#: In these one flow is alone: its window at each moment is compared.
ALONE = SETTINGS[:3]
PAIRS = [(setting, control) for setting, control in linux_matrix.PAIRS if setting.name in SETTINGS]
INTERVAL = 50 * MICROSECOND
#: Bytes of a full segment with timestamps.
SEGMENT = 1448
#: How far ours may be from Linux's, as a part of Linux's.
TOLERANCE = {"window_mean": 0.05, "window_p99": 0.1}
#: More seeds than for times, where chance decides how large a window is.
SEEDS = {"loss-1%": 24}
#: Linux's hosts as ours are. The TCP of a host may use 32 MiB: with a sixteenth of its memory a window beyond
#: 1,300 segments would wait. And a flow puts as much into its own host's queue as `nic_queue` says.
SYSCTL = {
    "net.ipv4.tcp_mem": "8192 8192 8192",
    "net.ipv4.tcp_limit_output_bytes": str(linux_matrix.LINUX.nic_queue),
}
#: Our hosts as Linux's are: with buffers as large as these, it acknowledges so many segments at once.
QUICK_ACKS = 288
#: An emulated host's clock has whole nanoseconds, so a full packet leaves it every 1202 ns. Its link of 10 Gb/s
#: takes 1201.6.
PACED = 1502 * 8 * GIGABIT // 1202
#: Of a panel of the picture, in pixels.
HEIGHT = 220
#: A fall by more than this part is a reduction, and it is over when the window has grown by the second part.
FALL, RISE = 0.1, 0.05

Figures = dict[str, float | None]
#: Window in segments by number of the sample.
Curve = dict[int, float]


def scenario(number: int, seed: int, *, emulated: bool) -> Scenario:
    """One run of a pair."""
    setting, control = PAIRS[number]
    made = setting.scenario(control, seed, emulated=emulated)
    made["measure"] |= {"interval": INTERVAL, "flows": True}
    host = made["hosts"][0]["config"]
    host["kernel"]["sysctl"] = SYSCTL
    host["tcp"]["quick_acks"] = QUICK_ACKS
    if not emulated:
        pace(made["topology"])
    return made


def pace(graph: Scenario) -> None:
    """Lets simulated hosts send as fast as emulated ones."""
    hosts = {node["name"] for node in graph["nodes"] if node["kind"] == "host"}
    for link in graph["links"]:
        for way, sender in (("ab", link["a"]), ("ba", link["b"])):
            if sender in hosts:
                link[way] = link[way] | {"rate": PACED}


def key(number: int) -> str:
    """The name of a pair."""
    setting, control = PAIRS[number]
    return f"{setting.name}/{control}"


def reductions(windows: Sequence[tuple[int, float]]) -> list[int]:
    """When a window begins to fall by more than [`FALL`], up to its next rise."""
    found: list[int] = []
    peak, low = windows[0][1], None
    for at, window in windows:
        if low is not None:
            low = min(low, window)
            if window > low * (1 + RISE):
                peak, low = window, None
        elif window < peak * (1 - FALL):
            found.append(at)
            low = window
        else:
            peak = max(peak, window)
    return found


def of_flow(flow: dict[str, Any]) -> Figures:
    """Figures of one flow: windows in segments, the first reduction by the time since it was open."""
    opened = flow["windows"][0][0]
    windows = [(at - opened, cwnd / SEGMENT) for at, cwnd in flow["windows"]]
    falls, sizes = reductions(windows), [size for _, size in windows]
    return {
        "window_mean": mean(sizes),
        "window_p99": figures.quantile(sizes, 0.99),
        "reductions": len(falls),
        "first_us": falls[0] / MICROSECOND if falls else None,
    }


def of_runs(runs: Sequence[dict[str, Any]]) -> Figures:
    """Means over the flows of all runs: each counts the same, however long it takes."""
    flows = [of_flow(flow) for run in runs for flow in run["flows"]]
    found: Figures = {}
    for name in flows[0]:
        values = [value for flow in flows if (value := flow[name]) is not None]
        found[name] = round(mean(values), 2) if values else None
    return found


def curve(run: dict[str, Any]) -> Curve:
    """The window of the only flow of a run."""
    return {at // INTERVAL: round(cwnd / SEGMENT, 1) for at, cwnd in run["flows"][0]["windows"]}


def measure(number: int, *, emulated: bool) -> tuple[Figures, Curve | None]:
    """One side of a pair; the window over time is that of the first seed."""
    setting, _ = PAIRS[number]
    seeds = range(1, SEEDS.get(setting.name, setting.seeds) + 1)
    runs = [ours.run(scenario(number, seed, emulated=emulated)) for seed in seeds]
    return of_runs(runs), curve(runs[0]) if setting.name in ALONE else None


def distance(mine: Curve, peer: Curve) -> float:
    """The mean distance at the same moments, as a part of the mean of Linux's."""
    both = sorted(mine.keys() & peer.keys())
    return mean(abs(mine[at] - peer[at]) for at in both) / mean(peer[at] for at in both)


def beyond(mine: Figures, peer: Figures) -> dict[str, float]:
    """How far ours is from Linux's, as a part of Linux's, for figures with a tolerance."""
    pairs = {name: (mine[name], peer[name]) for name in TOLERANCE}
    return {name: (a - b) / b for name, (a, b) in pairs.items() if a is not None and b is not None}


def row(number: int, peer: Figures, peer_curve: Curve | None) -> str:
    """Ours and Linux's: windows with the difference, bold where that is more than the tolerance."""
    mine, mine_curve = measure(number, emulated=False)
    cells = []
    for name, apart in beyond(mine, peer).items():
        text = f"{mine[name]:.4g} ({apart:+.1%})".replace("-", "−")
        cells.append(f"**{text}**" if abs(apart) > TOLERANCE[name] else text)
    for name, form in (("reductions", ".1f"), ("first_us", ".0f")):
        sides = (format(value, form) if value is not None else "–" for value in (mine[name], peer[name]))
        cells.append(" / ".join(sides))
    cells.append(f"{distance(mine_curve, peer_curve):.1%}" if mine_curve and peer_curve else "")
    return f"| {key(number).replace('/', ', ')} | {' | '.join(cells)} |"


def kept() -> dict[str, tuple[Figures, Curve | None]]:
    """Linux's figures and windows, by pair."""
    if not KEPT.exists():
        return {}
    found = {}
    for name, entry in json.loads(KEPT.read_text()).items():
        text = entry.pop("curve", None)
        pairs = (each.split(":") for each in text.split()) if text else None
        found[name] = (entry, {int(at): float(size) for at, size in pairs} if pairs else None)
    return found


def keep(found: dict[str, tuple[Figures, Curve | None]]) -> None:
    """Writes Linux's figures and windows."""
    entries = {}
    for name, (entry, windows) in found.items():
        text = {"curve": " ".join(f"{at}:{size:g}" for at, size in windows.items())} if windows else {}
        entries[name] = entry | text
    KEPT.write_text(json.dumps(entries, indent=1) + "\n")


def linux(number: int) -> tuple[Figures, Curve | None]:
    """Linux's side of a pair."""
    return measure(number, emulated=True)


def panel(sides: dict[str, Curve]) -> charts.Chart:
    """The windows of both sides over time."""
    shades = {"domain": list(sides), "range": [charts.color(index) for index, _ in enumerate(sides)]}
    axes = {
        "x": channel("ms:Q", title="ms"),
        "y": channel("segments:Q", title=None),
        "color": channel("side:N", scale=shades, legend=None),
    }
    rows = [
        (side, at * INTERVAL / MILLISECOND, size)
        for side, windows in sides.items()
        for at, size in windows.items()
    ]
    columns = dict(zip(("side", "ms", "segments"), map(list, zip(*rows, strict=True)), strict=True))
    drawn = layer("windows", {"type": "line", "strokeWidth": 1.5}, axes)
    return charts.Chart(layered([drawn], HEIGHT), {"windows": columns})


def picture(linux: dict[str, Curve]) -> str:
    """The windows of flows that are alone, side by side, as SVG."""
    panels = []
    for number in range(len(PAIRS)):
        if key(number) in DRAWN:
            mine = curve(ours.run(scenario(number, 1, emulated=False)))
            sides = {"incast": mine, "Linux": linux[key(number)]}
            heading = f"{PAIRS[number][1]}: congestion window, segments"
            panels.append((heading, panel(sides)))
    return svg(Figure("Windows", tuple(panels), keys=numbered(["incast", "Linux"]), columns=len(DRAWN)))


def table(names: list[str], *, kept_only: bool) -> None:
    """Runs both, prints the table, keeps Linux's side, and draws the picture."""
    print("| setting | mean | p99 | reductions | first at µs | distance |\n|---|--:|--:|--:|--:|--:|")
    known = kept()
    wanted = [n for n, (setting, _) in enumerate(PAIRS) if not names or setting.name in names]
    with ThreadPoolExecutor(2) as pool:
        peers = (known[key(number)] for number in wanted) if kept_only else pool.map(linux, wanted)
        for number, found in zip(wanted, peers, strict=True):
            known[key(number)] = found
            print(row(number, *found), flush=True)
    if not kept_only:
        keep(known)
    curves = {name: windows for name, (_, windows) in known.items() if windows}
    PICTURE.write_text(picture(curves))
