"""Ports over time as an operator's monitoring shows them: discards in and out, queue, latency, marks, PAUSE.

A panel a figure, a line a choice, all on one time axis.
"""

import polars as pl

from incast import text
from incast.report import charts, points
from incast.report.charts import Chart
from incast.report.parts import Columns, Drawn, Figure, Key, Table, listed
from incast.report.run import Run
from incast.report.sections import all_classes, watched

_BUCKETS = 100
_PORTS_MAX = 2
_LONGEST = 2  # the axis ends so many times after the shortest run's end
_Title = tuple[str, str]
_Curve = tuple[str, int, pl.DataFrame]
_FINDINGS = ("pfc-storm", "pfc-restored", "pfc-deadlock")
_COUNTED = (
    ("out_discards", ("out discards", "packets")),
    ("in_discards", ("in discards", "packets")),
    ("marks", ("ECN marks", "packets")),
    ("pause_sent", ("PAUSE sent", "packets")),
)


def congestion(drawn: list[Drawn]) -> list[Figure]:
    """All sampled switch ports together, then the hottest ones by themselves."""
    series = {d.run.name: all_classes(d.run) for d in drawn}
    sampled = [d for d in drawn if series[d.run.name].height]
    if not sampled:
        return []
    ends = {d.run.name: int(series[d.run.name]["time_ps"].max() or 1) for d in sampled}  # type: ignore[arg-type]
    end, note = shared_axis(ends)
    whole = _whole(sampled, series, end, note)
    return [
        *whole,
        *(_port(port, sampled, series, end, note) for port in watched(sampled, series)[:_PORTS_MAX]),
    ]


def shared_axis(ends: dict[str, int]) -> tuple[int, str]:
    """Where one time axis for runs that end then ends, and what to say of those that it cuts off."""
    end = min(max(ends.values()), _LONGEST * min(ends.values()))
    late = [name for name, last in ends.items() if last > end]
    return end, f"Not shown: what comes later in {text.listed(late)}." if late else ""


def _whole(sampled: list[Drawn], series: dict[str, pl.DataFrame], end: int, note: str) -> list[Figure]:
    """Discards, marks and pauses of all sampled switch ports; nothing where there were none."""
    switches = {d.run.name: _of_switches(d.run, series[d.run.name]) for d in sampled}
    columns = [column for column, _ in _COUNTED]
    rates = {
        d.run.name: points.rates(switches[d.run.name], "time_ps", columns, end, _BUCKETS) for d in sampled
    }
    panels = [
        panel
        for column, title in _COUNTED
        for panel in _panel(title, _curves(sampled, rates, pl.col(column)), end, steps=True)
    ]
    storms = pl.concat([_findings(d.run, d.run.name if len(sampled) > 1 else "") for d in sampled])
    all_ports = {
        d.run.name: points.rates(series[d.run.name], "time_ps", ["paused_ps"], end, _BUCKETS) for d in sampled
    }
    paused = _curves(sampled, all_ports, pl.col("paused_ps") / 1e12)
    panels += _panel(("ports paused", ""), paused, end, True, storms.filter(pl.col("time_ps") <= end))
    if not panels:
        return []
    ports = max(switches[d.run.name]["port"].n_unique() for d in sampled)
    said = [f"Of {text.plural(ports, 'sampled switch port')} together; paused ports are of hosts too.", note]
    if storms.height:
        said.append("Upright lines: what PFC's watchdog and the search for deadlocks found.")
    said = [each for each in said if each]
    return [Figure("Discards, marks and pauses", tuple(panels), _keys(sampled), " ".join(said))]


def _port(port: str, sampled: list[Drawn], series: dict[str, pl.DataFrame], end: int, note: str) -> Figure:
    """Queue drops, queue length and transmit latency of a port."""
    of_port = {name: frame.filter(pl.col("port") == port) for name, frame in series.items()}
    there = [d for d in sampled if of_port[d.run.name].height]
    columns = [column for column, _ in _COUNTED] + ["paused_ps", "drops"]
    rates = {d.run.name: points.rates(of_port[d.run.name], "time_ps", columns, end, _BUCKETS) for d in there}
    lengths = {
        d.run.name: points.extremes(
            of_port[d.run.name].filter(pl.col("time_ps") <= end), "time_ps", "queue_bytes", _BUCKETS
        ).with_columns(latency=pl.col("queue_bytes") * 8e12 / max(_rate(d.run, port), 1))
        for d in there
    }
    shown: list[tuple[_Title, list[_Curve], bool]] = [
        (("queue drops", "packets"), _curves(there, rates, pl.col(_dropped(there, of_port))), True),
        (("queue length", "size"), _curves(there, lengths, pl.col("queue_bytes")), False),
        (("transmit latency", "time"), _curves(there, lengths, pl.col("latency")), False),
        *(
            (title, _curves(there, rates, pl.col(column)), True)
            for column, title in _COUNTED
            if column != "out_discards"
        ),
        (("time paused", "%"), _curves(there, rates, pl.col("paused_ps") / 1e10), True),
    ]
    panels = [panel for title, curves, steps in shown for panel in _panel(title, curves, end, steps)]
    never = [title[0] for title, curves, _ in shown[:2] if not _panel(title, curves, end)]
    said = [
        "Transmit latency is the queue by the link's rate: the wait of a packet that comes then.",
        f"Zero all the time: {text.listed(never)}." if never else "",
        note,
    ]
    notes = " ".join(filter(None, said))
    return Figure(f"Drops, queue and latency at {port}", tuple(panels), _keys(sampled), notes)


def _dropped(there: list[Drawn], of_port: dict[str, pl.DataFrame]) -> str:
    """The column of queue drops: those on the way out, where the run tells them apart."""
    apart = any(of_port[d.run.name]["out_discards"].count() for d in there)
    return "out_discards" if apart else "drops"


def _curves(there: list[Drawn], frames: dict[str, pl.DataFrame], y: pl.Expr) -> list[_Curve]:
    return [(d.run.name, d.color, frames[d.run.name].select("time_ps", y=y)) for d in there]


def _panel(
    title: _Title,
    curves: list[_Curve],
    end: int,
    steps: bool = False,
    moments: pl.DataFrame | None = None,
) -> list[tuple[str, Chart]]:
    """The chart; nothing where all is zero and there is no moment."""
    if not any(line["y"].sum() for _, _, line in curves) and (moments is None or not moments.height):
        return []
    return [("", charts.lines(curves, title, "choice", end, steps, moments))]


def _of_switches(run: Run, series: pl.DataFrame) -> pl.DataFrame:
    """The samples of switch ports; of all where the run does not say which these are."""
    known = run.table("ports").filter(pl.col("kind") == "switch")["port"]
    return series.filter(pl.col("port").is_in(known.implode())) if known.len() else series


def _rate(run: Run, port: str) -> int:
    known = run.table("ports").filter(pl.col("port") == port)["rate_bps"].drop_nulls()
    return int(known[0]) if known.len() else 0


def _findings(run: Run, name: str) -> pl.DataFrame:
    """Storms and deadlocks: when, and what where."""
    prefix = f"{name}: " if name else ""
    return (
        run.table("events")
        .filter(pl.col("what").is_in(_FINDINGS))
        .select("time_ps", what=pl.format("{}{} {}", pl.lit(prefix), "what", "where"))
    )


def _keys(sampled: list[Drawn]) -> tuple[Key, ...]:
    return tuple(Key(d.run.name, d.color) for d in sampled) if len(sampled) > 1 else ()


def pauses(run: Run) -> Table:
    """The ports that were paused longest, then those that sent most PAUSE frames; empty without PFC."""
    of_class = run.table("pauses").group_by("port").agg(pl.col("storms", "storm_drops").sum())
    counted = ("pause_sent", "pause_received", "paused_ps")
    ports = (
        run.table("ports")
        .filter(pl.sum_horizontal(counted) > 0)
        .join(of_class, on="port", how="left")
        .sort("paused_ps", "pause_sent", "port", descending=[True, True, False])
    )
    columns: Columns = {
        "Port": lambda row: row["port"] or text.NONE,
        "PAUSE sent": lambda row: text.count(row["pause_sent"]),
        "PAUSE received": lambda row: text.count(row["pause_received"]),
        "Time paused": lambda row: text.time(row["paused_ps"]),
        "In discards": lambda row: text.count(row["in_discards"]),
        "Out discards": lambda row: text.count(row["out_discards"]),
        "Watchdog storms": lambda row: text.count(row["storms"]),
        "Dropped by it": lambda row: text.count(row["storm_drops"]),
    }
    return listed("Pauses", ports, columns, "port")
