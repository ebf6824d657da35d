"""Results as tables for the terminal, and problems as text."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from incast.choose import best, deciding
from incast.compare import Difference, Samples, Way, change, interval, mean, samples
from incast.errors import IncastError, ScenarioError
from incast.metrics import DONE, JOB, PORTS, Metric
from incast.report import text
from incast.result import Result

out = Console()
err = Console(stderr=True)

_FORMAT = {"_ps": text.time, "_bytes": text.size, "_bps": text.rate}
_JOB_COLUMNS = (
    "duration_ps",
    "group_mean_ps",
    "fct_mean_ps",
    "fct_p50_ps",
    "fct_p99_ps",
    "goodput_bps",
    "retransmits",
    "timeouts",
)
_PORT_ROWS = ("drops", "marks", "queue_max_bytes")


def value(metric: Metric, figure: float | None) -> str:
    """A figure with its unit."""
    return _FORMAT.get(metric.unit, text.count)(figure)


def print_json(content: Any) -> None:
    """Plain JSON on standard output."""
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def error(problem: IncastError, as_json: bool) -> None:
    """What is wrong, on standard error; as JSON on standard output."""
    problems = problem.problems if isinstance(problem, ScenarioError) else ()
    if as_json:
        listed = [
            {"file": p.file or None, "line": p.line, "path": p.path or None, "message": p.message}
            for p in problems
        ]
        print_json({"ok": False, "problems": listed or [{"message": str(problem)}]})
        return
    for line in [str(each) for each in problems] or [str(problem)]:
        err.print(f"[bold red]error:[/] {escape(line)}", soft_wrap=True, highlight=False)


def jobs(run: Result) -> Table:
    """One row a job."""
    found: Mapping[str, Any] = run.summary.get("jobs", {})
    metrics = [
        m for m in JOB if m.key in _JOB_COLUMNS and any(job.get(m.key) is not None for job in found.values())
    ]
    table = Table("job", box=box.SIMPLE_HEAD, title="Jobs", title_justify="left")
    for metric in metrics:
        table.add_column(metric.label, justify="right")
    for name, job in found.items():
        table.add_row(name, *(value(metric, job.get(metric.key)) for metric in metrics))
    return table


def network(run: Result) -> str:
    """One line on all ports."""
    ports: Mapping[str, Any] = run.summary.get("ports", {})
    parts = [f"{m.label} {value(m, ports.get(m.key))}" for m in PORTS if m.key in _PORT_ROWS]
    place = f" at {ports['queue_max_port']}" if ports.get("queue_max_bytes") else ""
    return "Network: " + ", ".join(parts) + place


def choices(runs: Mapping[str, Sequence[Result]]) -> Table:
    """One column a choice, one row a figure; differences are against the best choice."""
    winner = best(runs)
    way, metric = deciding(runs)
    table = Table("", box=box.SIMPLE_HEAD, title="Choices", title_justify="left")
    if winner is not None:
        table.caption = f"★ best by {_label(way, metric)}; differences are against it"
        table.caption_justify = "left"
    for name in runs:
        table.add_column(
            f"[bold green]★ {escape(name)}[/]" if name == winner else escape(name), justify="right"
        )
    for row_way, row_metric in _rows(runs):
        figures = {name: samples(each, row_way) for name, each in runs.items()}
        if any(figures.values()):
            cells = [_cell(row_metric, name, figures, winner) for name in runs]
            bold = "bold" if row_way == way else None
            table.add_row(_label(row_way, row_metric), *cells, style=bold)
    return table


def _rows(runs: Mapping[str, Sequence[Result]]) -> list[tuple[Way, Metric]]:
    way, metric = deciding(runs)
    summaries = [run.summary for each in runs.values() for run in each]
    kinds = {job: found["kind"] for summary in summaries for job, found in summary.get("jobs", {}).items()}
    rows: list[tuple[Way, Metric]] = [(way, metric)]
    for job, kind in kinds.items():
        if kind != "background":
            rows += [(("jobs", job, m.key), m) for m in JOB if m.key in _JOB_COLUMNS]
    rows += [(("ports", m.key), m) for m in PORTS if m.key in _PORT_ROWS]
    return rows


def _label(way: Way, metric: Metric) -> str:
    if metric is DONE:
        return metric.label
    return escape(f"{way[1]}: {metric.label}" if way[0] == "jobs" else f"{way[0]}: {metric.label}")


def _cell(metric: Metric, name: str, figures: Mapping[str, Samples], winner: str | None) -> str:
    shown = value(metric, mean(figures[name]))
    if winner is None or name == winner or not figures[winner]:
        return shown
    part = change(mean(figures[winner]), mean(figures[name]))
    if part is None:
        return shown
    ends = interval(figures[winner], figures[name])
    unsure = ends is not None and ends[0] <= 0 <= ends[1]
    return f"{shown} {_change(metric, part, unsure)}"


def _change(metric: Metric, part: float, unsure: bool = False) -> str:
    percent = f"{part:+.1%}" if abs(part) < 0.1 else f"{part:+.0%}"
    if unsure:
        return f"[dim]{percent} ±[/]"
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
        cells = [escape(each.figure), value(metric, each.a), value(metric, each.b)]
        cells.append("" if each.change is None else _change(metric, each.change, not each.certain))
        if intervals:
            cells.append(_interval(metric, each))
        table.add_row(*([each.choice] if several else []), *cells)
    return table


def _interval(metric: Metric, each: Difference) -> str:
    if each.low is None or each.high is None:
        return ""
    low, high = (("−" if end < 0 else "+") + value(metric, abs(end)) for end in (each.low, each.high))
    return f"{low} … {high}"


def thresholds(runs: Sequence[Result]) -> None:
    """Whether each threshold held."""
    for run in runs:
        for each in run.summary.get("thresholds", []):
            mark = "[green]✓ holds[/]" if each["holds"] else "[bold red]✗ does not hold[/]"
            where = f"{run.summary['choice']}: " if run.summary.get("choice") else ""
            out.print(f"{mark} {escape(where + each['text'])}", highlight=False)
