"""Watermarks over time: shared memory by switch, queues by class, priority groups of PFC.

Shared memory is compared between choices; the others are drawn run by run, as far as there is anything.
"""

import polars as pl

from incast import text
from incast.network.buffers import pools
from incast.report import charts, points
from incast.report.congestion import shared_axis
from incast.report.parts import Drawn, Figure, Key
from incast.report.run import Run

_SWITCHES_MAX = 2
_LINES_MAX = 5
_BUCKETS = 100
_Title = tuple[str, str]
_NOTE = "A watermark is the most since the point before."


def buffers(drawn: list[Drawn]) -> list[Figure]:
    """All figures; none where nothing was sampled."""
    figures = _shared(drawn)
    for d in drawn:
        suffix = f", {d.run.name}" if len(drawn) > 1 else ""
        queues, groups = d.run.table("queues_series"), d.run.table("pauses_series")
        figures += _by_class(queues, f"Queues by class{suffix}", (("queue_max_bytes", "queue watermark"),))
        held = (("held_max_bytes", "held watermark"), ("headroom_max_bytes", "headroom watermark"))
        figures += _by_class(groups, f"Priority groups of PFC{suffix}", held)
    return figures


def _shared(drawn: list[Drawn]) -> list[Figure]:
    """Shared memory and headroom: of one run the fullest switches together, of several each by itself."""
    sampled = [d for d in drawn if d.run.table("pools_series").height]
    if not sampled:
        return []
    used = pl.concat([pools(d.run.table).select("switch", "used_max") for d in sampled])
    fullest = used.group_by("switch").agg(pl.col("used_max").max())
    switches = fullest.sort("used_max", "switch", descending=[True, False])["switch"].to_list()
    if len(drawn) == 1:
        run = drawn[0].run
        lines = {switch: _of(run, switch) for switch in switches[:_LINES_MAX]}
        colors = {switch: number for number, switch in enumerate(lines)}
        return _pool("Shared memory", lines, colors, "switch", [_sizes(run, s) for s in lines])
    found = []
    for switch in switches[:_SWITCHES_MAX]:
        lines = {d.run.name: _of(d.run, switch) for d in sampled}
        colors = {d.run.name: d.color for d in sampled}
        sizes = [_sizes(d.run, switch, d.run.name) for d in sampled]
        found += _pool(f"Shared memory of {switch}", lines, colors, "choice", sizes)
    return found


def _pool(
    title: str, lines: dict[str, pl.DataFrame], colors: dict[str, int], legend: str, sizes: list[str]
) -> list[Figure]:
    columns = (("used_max_bytes", "shared watermark"), ("headroom_max_bytes", "headroom watermark"))
    said = f"{_NOTE} Shared memory: {text.listed([each for each in sizes if each])}."
    return _figure(title, columns, lines, colors, legend, said)


def _of(run: Run, switch: str) -> pl.DataFrame:
    return run.table("pools_series").filter(pl.col("switch") == switch)


def _sizes(run: Run, switch: str, name: str = "") -> str:
    """How much memory the switch's ports share."""
    size = run.table("pools").filter(pl.col("switch") == switch)["size_bytes"]
    return f"{text.size(size[0])} ({name or switch})" if size.len() else ""


def _by_class(series: pl.DataFrame, title: str, columns: tuple[_Title, ...]) -> list[Figure]:
    """The ports and classes with the highest watermarks of the first column."""
    first = columns[0][0]
    highest = series.group_by("port", "class").agg(pl.col(first).max()).filter(pl.col(first) > 0)
    order = highest.sort(first, "port", "class", descending=[True, False, False])
    shown = list(order.head(_LINES_MAX).select("port", "class").iter_rows())
    lines = {
        f"{port} class {number}": series.filter((pl.col("port") == port) & (pl.col("class") == number))
        for port, number in shown
    }
    colors = {name: color for color, name in enumerate(lines)}
    left = f" The {len(shown)} highest of {order.height}." if order.height > len(shown) else ""
    return _figure(title, columns, lines, colors, "port and class", _NOTE + left)


def _figure(
    title: str,
    columns: tuple[_Title, ...],
    lines: dict[str, pl.DataFrame],
    colors: dict[str, int],
    legend: str,
    note: str,
) -> list[Figure]:
    """A panel for each column that is ever above zero; nothing where none is."""
    lines = {line: frame for line, frame in lines.items() if frame.height}
    if not lines:
        return []
    end, cut = shared_axis({line: points.most(frame, "time_ps") for line, frame in lines.items()})
    panels = []
    for column, name in columns:
        curves = []
        for line, frame in lines.items():
            shown = points.maxima(frame, "time_ps", column, end, _BUCKETS)
            curves.append((line, colors[line], shown.rename({column: "y"})))
        if any(frame["y"].sum() for _, _, frame in curves):
            panels.append(("", charts.lines(curves, (name, "size"), legend, end, steps=True)))
    keys = tuple(Key(line, colors[line]) for line in lines) if len(lines) > 1 else ()
    said = [note, f"Of {next(iter(lines))}." if len(lines) == 1 else "", cut]
    return [Figure(title, tuple(panels), keys, " ".join(filter(None, said)))] if panels else []
