"""Results of runs as tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from incast import lateness, skipping, text
from incast.answer import answer as answer_of
from incast.answer import between
from incast.cli import show
from incast.cli.show_choices import difference
from incast.comparison import Difference
from incast.incomplete import STUCK
from incast.incomplete import lines as incomplete_lines
from incast.kinds import traits
from incast.metric import Metric
from incast.metrics import JOB, PORTS
from incast.result import Result
from incast.samples import Way, lookup


def fingerprint(result: Result) -> None:
    """By which equal runs are known; sockets have none."""
    if result.fingerprint:
        show.out.print(f"Fingerprint: {result.fingerprint}", highlight=False)


def answer(choices: Mapping[str, Sequence[Result]]) -> None:
    """What came of it, in a sentence, and what qualifies it."""
    first, *more = answer_of(choices)
    show.out.print(f"[bold]{escape(first)}[/]", highlight=False)
    for sentence in more:
        show.out.print(escape(sentence), highlight=False)


def jobs(run: Result, every: bool) -> Iterator[Table]:
    """One column a job, one row a figure; all figures, or a few. More jobs than fit are in several tables."""
    found: Mapping[str, Any] = run.summary.get("jobs", {})
    within = [("jobs", name) for name, job in found.items() if traits(job["kind"]).awaited]
    shown = [metric for metric in JOB if _is_shown(metric, within, run, every)]

    def part(names: Sequence[str]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        table.add_column("", overflow="fold")
        for name in names:
            table.add_column(escape(name), justify="right", overflow="fold")
        for metric in shown:
            figures = [found[name].get(metric.key) for name in names]
            if any(figure is not None for figure in figures):
                table.add_row(metric.label, *(metric.text(figure) for figure in figures))
        return table

    return show.in_parts(list(found), part)


def _is_shown(metric: Metric, within: Sequence[Way], run: Result, every: bool) -> bool:
    """Whether a figure of these parts of the summary is shown."""
    if metric.row == "any" and not every:
        return any(lookup(run.summary, (*way, metric.key)) for way in within)
    return every or metric.row == "always"


def network(run: Result, every: bool) -> str:
    """One line on all ports."""
    ports: Mapping[str, Any] = run.summary.get("ports", {})
    parts = [f"{m.label} {m.text(ports.get(m.key))}" for m in PORTS if _is_shown(m, [("ports",)], run, every)]
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


def skipped(runs: Sequence[Result]) -> None:
    """How much of the time was steady and not computed, where that was asked for."""
    for run in runs:
        if said := skipping.line(run):
            show.out.print(escape(said + _which(run, runs)), highlight=False)


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
    """What each run was still at when it ended: what is stuck where. One that was interrupted isn't."""
    for run in runs:
        if run.interrupted:
            continue
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


def differences(
    found: Sequence[Difference], metric_of: Mapping[str, Metric], names: tuple[str, str]
) -> Table:
    """Two results side by side."""
    intervals = any(each.contrast and each.contrast.interval for each in found)
    several = any(each.choice for each in found)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in (*(["choice"] if several else []), "figure"):
        table.add_column(name, overflow="fold")
    for name in (*names, "change", *(["95 % interval"] if intervals else [])):
        table.add_column(escape(name), justify="right", overflow="fold")
    for each in found:
        metric, contrast = metric_of[each.figure], each.contrast
        cells = [escape(each.figure.removesuffix(metric.unit)), metric.text(each.a), metric.text(each.b)]
        table.add_row(
            *([escape(each.choice)] if several else []),
            *cells,
            difference(contrast, metric) if contrast else "",
            *([between(contrast) if contrast else ""] if intervals else []),
        )
    return table


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
