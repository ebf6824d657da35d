"""The report's figures: which runs, ports and jobs are drawn, and the words under the pictures."""

import polars as pl

from incast import text
from incast.report import charts, points
from incast.report.curves import Part, binned, by_choice, cdfs, over_seeds, times
from incast.report.foreground import switch_waits, timed_flows, waiting_by_port
from incast.report.parts import Drawn, Figure
from incast.report.run import Run

DRAWN_MAX = 6
"""Runs that are drawn together; the table of choices has all."""
_PORTS_MAX = 3
_WAIT_PORTS_MAX = 5
_JOBS_MAX = 4
_OWN_SCALE = 10  # peaks further apart than this do not share an axis
_OWN_TIME = 4  # nor do runs whose lengths differ more than this


def queues(drawn: list[Drawn]) -> list[Figure]:
    """Queue length over time at the ports where data waited longest, a panel a run."""
    series = {d.run.name: all_classes(d.run) for d in drawn}
    return [_queue(port, drawn, series) for port in watched(drawn, series)]


def completions(drawn: list[Drawn]) -> list[Figure]:
    """Flow completion: one run by job; several runs for all flows, then job by job."""
    names = list(
        dict.fromkeys(n for d in drawn for n in timed_flows(d.run)["job"].unique(maintain_order=True))
    )
    title = "Flow completion time"

    def of_job(job: str | None) -> pl.Expr:
        return pl.col("job").eq_missing(pl.lit(job))

    if len(drawn) == 1:
        parts = [(str(job), i, of_job(job)) for i, job in enumerate(names[: charts.SHAPES_MAX])]
        return cdfs(title, over_seeds(drawn[0], timed_flows, times, parts), "job")
    shown = names[:_JOBS_MAX] if len(names) > 1 else []
    kept = {title: pl.lit(True)} | {f"{title}, job {job}": of_job(job) for job in shown}
    return by_choice(drawn, timed_flows, times, kept)


def waits(drawn: list[Drawn]) -> list[Figure]:
    """Time in queues: one run by port; several runs over all switch ports, then at the hottest."""
    title = "Wait in switch queues"
    if len(drawn) == 1:
        ports = waiting_by_port(drawn[0].run)["port"].head(_WAIT_PORTS_MAX).to_list()
        parts: list[Part] = [("all switch ports", 0, pl.lit(True))]
        if len(ports) > 1:
            parts += [(port, i, pl.col("port") == port) for i, port in enumerate(ports, start=1)]
        return cdfs(title, over_seeds(drawn[0], switch_waits, binned, parts), "port")
    hottest = _hottest([d.run for d in drawn])[:1]
    kept = {f"{title}, all switch ports": pl.lit(True)}
    kept |= {f"{title}, port {port}": pl.col("port") == port for port in hottest}
    return by_choice(drawn, switch_waits, binned, kept)


def _hottest(runs: list[Run]) -> list[str]:
    """Ports by their greatest share of all waiting in any run."""
    shares = pl.concat([waiting_by_port(run).select("port", "share") for run in runs])
    return (
        shares.group_by("port")
        .agg(pl.col("share").max())
        .sort("share", "port", descending=[True, False])["port"]
        .to_list()
    )


def watched(drawn: list[Drawn], series: dict[str, pl.DataFrame]) -> list[str]:
    """Sampled ports, the hottest first; without wait figures, those with the longest queue."""
    peaks = pl.concat(
        [s.group_by("port").agg(pl.col("queue_bytes").max(), pl.col("drops").sum()) for s in series.values()]
    )
    if not peaks.height:
        return []
    ranks = {port: rank for rank, port in enumerate(_hottest([d.run for d in drawn]))}
    ordered = (
        peaks.group_by("port")
        .agg(pl.col("queue_bytes").max(), pl.col("drops").sum())
        .filter((pl.col("queue_bytes") > 0) | (pl.col("drops") > 0))
        .sort("queue_bytes", "port", descending=[True, False])["port"]
        .to_list()
    )
    return sorted(ordered, key=lambda p: ranks.get(p, len(ranks)))[:_PORTS_MAX]


def all_classes(run: Run) -> pl.DataFrame:
    """The series over all classes together; summed where only single classes were sampled."""
    series = run.table("ports_series").drop_nulls(["port", "time_ps"])
    whole = series.filter(pl.col("class").is_null())
    if whole.height or not series.height:
        return whole
    counted = pl.exclude("port", "time_ps", "class")
    return series.group_by("port", "time_ps", maintain_order=True).agg(counted.sum())


def _queue(port: str, drawn: list[Drawn], series: dict[str, pl.DataFrame]) -> Figure:
    samples = {n: s.filter(pl.col("port") == port) for n, s in series.items()}
    peaks = {n: points.most(s, "queue_bytes") for n, s in samples.items()}
    high = max(peaks.values())
    low = min((p for p in peaks.values() if p), default=0)
    ends = {n: points.most(s, "time_ps") for n, s in series.items()}
    late = max(ends.values())
    own = high > _OWN_SCALE * low
    own_time = late > _OWN_TIME * min((e for e in ends.values() if e), default=0)
    panels, absent = [], []
    for d in drawn:
        name, sampled = d.run.name, samples[d.run.name]
        if not sampled.height:
            absent.append(name)
            continue
        line = points.extremes(sampled, "time_ps", "queue_bytes")
        counts = points.sums(sampled, "time_ps", ["drops", "marks"])
        top = float(peaks[name] if own else high) or 1.0
        end = float(ends[name] if own_time else late)
        chart = charts.queue(line, counts, d.color, (0.0, end), top)
        said = (
            f"peak {text.size(peaks[name])}, {text.plural(int(sampled['drops'].sum()), 'drop')}, "
            f"{text.plural(int(sampled['marks'].sum()), 'mark')}"
        )
        panels.append((f"{name}: {said}" if len(drawn) > 1 else _first_upper(said), chart))
    differ = text.listed(["queue"] * own + ["time"] * own_time)
    notes = [f"The panels differ in their scale of {differ}."] if differ and len(panels) > 1 else []
    notes += [f"Not sampled in {text.listed(absent)}."] if absent else []
    return Figure(f"Queue at {port}", tuple(panels), note=" ".join(notes))


def _first_upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
