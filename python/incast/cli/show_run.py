"""Results of runs as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from incast import lateness, text
from incast.choose import best, deciding
from incast.cli import show
from incast.comparison import Difference, Samples, Way, change, interval, lookup, mean, samples, spread
from incast.incomplete import STUCK
from incast.incomplete import lines as incomplete_lines
from incast.kinds import traits
from incast.metric import Metric
from incast.metrics import JOB, PORTS
from incast.result import Result


def fingerprint(result: Result) -> None:
    """By which equal runs are known; sockets have none."""
    if result.fingerprint:
        show.out.print(f"Fingerprint: {result.fingerprint}", highlight=False)


def jobs(run: Result) -> Table:
    """One column a job, one row a figure."""
    found: Mapping[str, Any] = run.summary.get("jobs", {})
    table = _table("Jobs", "")
    for name in found:
        table.add_column(escape(name), justify="right", overflow="fold")
    within = [("jobs", name) for name, job in found.items() if traits(job["kind"]).awaited]
    for metric in JOB:
        figures = [job.get(metric.key) for job in found.values()]
        if _is_shown(metric, within, [run]) and any(figure is not None for figure in figures):
            table.add_row(metric.label, *(metric.text(figure) for figure in figures))
    return table


def _is_shown(metric: Metric, within: Sequence[Way], runs: Sequence[Result]) -> bool:
    """Whether a figure of these parts of the summaries is in the tables."""
    if metric.row == "any":
        return any(lookup(run.summary, (*way, metric.key)) for run in runs for way in within)
    return metric.row == "always"


def _table(title: str, first: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold")
    return table


def network(run: Result) -> str:
    """One line on all ports."""
    ports: Mapping[str, Any] = run.summary.get("ports", {})
    parts = [f"{m.label} {m.text(ports.get(m.key))}" for m in PORTS if _is_shown(m, [("ports",)], [run])]
    place = f" at {ports['queue_max_port']}" if ports.get("queue_max_bytes") else ""
    return "Network: " + ", ".join(parts) + place


_COMPUTING = {
    "free": "On emulated hosts computing takes no time",
    "charged": "On emulated hosts computing takes processor time: two runs differ",
    "real": "Hosts of programs were a part of this machine, on its clock: two runs differ",
}


def computing(runs: Sequence[Result]) -> None:
    """What computing costs on emulated hosts, where there are any."""
    for said in dict.fromkeys(run.summary.get("computing") for run in runs):
        if said in _COMPUTING:
            of = [run.summary.get("choice") for run in runs if run.summary.get("computing") == said]
            names = ", ".join(dict.fromkeys(name for name in of if name)) if len(of) < len(runs) else ""
            show.out.print(escape(_COMPUTING[said] + (f" ({names})" if names else "")), highlight=False)


def late(runs: Sequence[Result], of: str = "") -> None:
    """The runs in which too many packets came too late: their network was another one."""
    for run in runs:
        if lateness.is_too_late(run.summary):
            where = f" ({of})" if of else _which(run, runs)
            said = f"{lateness.line(run.summary)}{where}: clock.scale slows the network down"
            show.out.print(f"[bold red]late:[/] [red]{escape(said)}[/]", soft_wrap=True, highlight=False)


def on_time(runs: Sequence[Result]) -> None:
    """How late packets came in the other runs on this machine's clock."""
    for run in runs:
        if (said := lateness.line(run.summary)) and not lateness.is_too_late(run.summary):
            show.out.print(escape(said + _which(run, runs)), highlight=False)


def incomplete(runs: Sequence[Result], of: str = "") -> None:
    """The jobs that failed or did not end, first of all, so that nobody takes such a run for a fast one."""
    for run in runs:
        where = f" ({of})" if of else _which(run, runs)
        if run.summary.get("end") == STUCK:
            said = f"the run is stuck{where}: jobs had not ended, and nothing was left to happen"
            show.out.print(f"[bold red]error:[/] {escape(said)}", soft_wrap=True, highlight=False)
        for line in incomplete_lines(run.summary):
            show.out.print(
                f"[bold red]incomplete:[/] [red]{escape(line + where)}[/]", soft_wrap=True, highlight=False
            )


def _which(run: Result, runs: Sequence[Result]) -> str:
    """The run among several."""
    parts = (run.summary.get("choice"), f"seed {run.summary['seed']}")
    return f" ({', '.join(part for part in parts if part)})" if len(runs) > 1 else ""


def unfinished(runs: Sequence[Result]) -> None:
    """What each run was still at when it ended: what is stuck where."""
    for run in runs:
        found: Mapping[str, Any] = run.summary.get("unfinished_tasks", {})
        where = _which(run, runs)
        listed = found.get("first", [])
        for each in listed:
            what = f"{each['kind']} {each['number']} on {each['host']} since {text.time(each['start_ps'])}"
            if each["from"]:
                what += f", {each['from']} → {each['to']} not done"
            show.out.print(f"[bold red]stuck:[/] {escape(what + where)}", soft_wrap=True, highlight=False)
        if (more := found.get("count", 0) - len(listed)) > 0:
            show.out.print(
                f"[bold red]stuck:[/] {more} more tasks{escape(where)}", soft_wrap=True, highlight=False
            )


def deadlocks(runs: Sequence[Result]) -> None:
    """The queues that wait for each other at a run's end."""
    for run in runs:
        found: Mapping[str, Any] = run.summary.get("deadlock") or {}
        queues = [f"{each['port']} class {each['class']}" for each in found.get("cycle", [])]
        if queues:
            choice = f" ({run.summary['choice']})" if run.summary.get("choice") else ""
            behind = f", {len(found['behind'])} more wait for these" if found["behind"] else ""
            what = f"{' → '.join([*queues, queues[0]])}{behind}{choice}"
            show.out.print(f"[bold red]deadlock of PFC:[/] {escape(what)}", soft_wrap=True, highlight=False)


def choices(runs: Mapping[str, Sequence[Result]]) -> Table:
    """One column a choice, one row a figure, means of all seeds; differences are against the best choice."""
    winner = best(runs) if len(runs) > 1 else None
    way, metric = deciding(runs)
    seeds = max(len(each) for each in runs.values())
    table = _table("Choices" if len(runs) > 1 else "", "")
    table.caption = "; ".join(
        [
            *([f"★ best by {_label(way, metric)}; differences are against it"] if winner is not None else []),
            *([f"means of {seeds} seeds, ± half of their 95 % intervals"] if seeds > 1 else []),
        ]
    )
    table.caption_justify = "left"
    for name in runs:
        head = f"[bold green]★ {escape(name)}[/]" if name == winner else escape(name)
        table.add_column(head or "mean", justify="right", overflow="fold")
    for label, row_way, row_metric in _rows(runs):
        figures = {name: samples(each, row_way) for name, each in runs.items()}
        if any(figures.values()):
            cells = [_cell(row_metric, name, figures, winner) for name in runs]
            table.add_row(label, *cells, style="bold" if row_way == way else None)
    return table


def _rows(runs: Mapping[str, Sequence[Result]]) -> list[tuple[str, Way, Metric]]:
    """What is shown: what decides, then each job's figures, then the network's."""
    way, metric = deciding(runs)
    summaries = [run.summary for each in runs.values() for run in each]
    kinds = {job: found["kind"] for summary in summaries for job, found in summary.get("jobs", {}).items()}
    asked = [job for job, kind in kinds.items() if traits(kind).awaited]
    rows = [(_label(way, metric), way, metric)]
    every = [run for each in runs.values() for run in each]
    for job in asked:
        # What decides is shown already; with a single job, it is a figure of that job.
        said = {way, ("jobs", job, way[-1])} if len(asked) == 1 else {way}
        shown = [m for m in JOB if _is_shown(m, [("jobs", job)], every) and ("jobs", job, m.key) not in said]
        prefix = f"{escape(job)}: " if len(asked) > 1 else ""
        rows += [(prefix + m.label, ("jobs", job, m.key), m) for m in shown]
    return rows + [(m.label, ("ports", m.key), m) for m in PORTS if _is_shown(m, [("ports",)], every)]


def _label(way: Way, metric: Metric) -> str:
    return f"FCT {metric.label}" if way[0] == "flows" and metric.key == "p99_ps" else metric.label


def _cell(metric: Metric, name: str, figures: Mapping[str, Samples], winner: str | None) -> str:
    shown = metric.text(mean(figures[name]))
    if half := spread(figures[name]):
        shown += f" [dim]±{half:.1%}[/]"
    if winner is None or name == winner or not figures[winner] or metric.better == 0:
        return shown
    part = change(mean(figures[winner]), mean(figures[name]))
    if part is None or abs(part) < 0.0005:  # 0.0 %
        return shown
    ends = interval(figures[winner], figures[name])
    unsure = ends is not None and ends[0] <= 0 <= ends[1]
    return f"{shown} {_change(metric, part, unsure)}"


def _change(metric: Metric, part: float, unsure: bool = False) -> str:
    percent = f"×{1 + part:.0f}" if part >= 9 else f"{part:+.1%}" if abs(part) < 0.1 else f"{part:+.0%}"
    if unsure:  # the interval holds zero
        return f"[dim]({percent})[/]"
    good = part * metric.better
    return f"[{'green' if good > 0 else 'red' if good < 0 else 'dim'}]{percent}[/]"


def differences(
    found: Sequence[Difference], metric_of: Mapping[str, Metric], names: tuple[str, str]
) -> Table:
    """Two results side by side."""
    intervals = any(each.low is not None for each in found)
    several = any(each.choice for each in found)
    table = Table(*(["choice"] if several else []), "figure", box=box.SIMPLE_HEAD)
    for name in (*names, "change", *(["95 % interval of the change"] if intervals else [])):
        table.add_column(escape(name), justify="right")
    for each in found:
        metric = metric_of[each.figure]
        cells = [escape(each.figure), metric.text(each.a), metric.text(each.b)]
        cells.append("" if each.change is None else _change(metric, each.change, not each.certain))
        if intervals:
            cells.append(_interval(metric, each))
        table.add_row(*([each.choice] if several else []), *cells)
    return table


def _interval(metric: Metric, each: Difference) -> str:
    if each.low is None or each.high is None:
        return ""
    low, high = (("−" if end < 0 else "+") + metric.text(abs(end)) for end in (each.low, each.high))
    return f"{low} … {high}"


def thresholds(runs: Sequence[Result]) -> None:
    """Which thresholds did not hold, and how many did."""
    held = 0
    for run in runs:
        where = f" ({run.summary['choice']})" if run.summary.get("choice") else ""
        for each in run.summary.get("thresholds", []):
            held += each["holds"]
            if not each["holds"]:
                is_ = f"it is {Metric(each['figure'], '').text(each['value'])}"
                text_ = escape(f"{each['text']}{where}: {each.get('why') or is_}")
                show.out.print(
                    f"[bold red]✗ threshold does not hold:[/] {text_}", soft_wrap=True, highlight=False
                )
    if held:
        show.out.print(
            f"[green]✓[/] {text.plural(held, 'threshold holds', 'thresholds hold')}", highlight=False
        )
