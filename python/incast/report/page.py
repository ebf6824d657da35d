"""Puts the page together: template, style, scripts and data in one file that needs no network."""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from incast.report import bundle, congestion, facts, netload, sections, series, tables, timeline
from incast.report.answer import answer, ranked
from incast.report.charts import DASHES, Chart
from incast.report.load import Report, Run
from incast.report.measures import figures, measures
from incast.report.sections import DRAWN_MAX, Drawn, Figure
from incast.report.tables import Table

_DETAILED_MAX = 20  # choices whose tables are shown; the table of choices has all


def render(report: Report) -> str:
    """The whole page."""
    runs = report.runs
    computed = [figures(each) for each in report.choices]
    compared = measures(computed)
    order = [f.name for f in (ranked(computed, compared[0].key) if compared else computed)]
    best_first = sorted(runs, key=lambda run: order.index(run.name))
    drawn = _drawn(report, order)
    by_rank = sorted(drawn, key=lambda d: order.index(d.run.name))
    nets = netload.drawings([(d.color, d.run) for d in by_rank])
    book = _Book()
    context = {
        "report": report,
        "seeds": max(len(each) for each in report.choices),
        "answer": answer(runs, computed, compared),
        "choices": tables.choices(computed, compared) if len(runs) > 1 else None,
        "thresholds": facts.thresholds(runs),
        "settings": facts.settings(runs) if len(runs) > 1 else None,
        "drawn": drawn,
        "nets": nets,
        "picks": [d for d in by_rank if any(d.color in net.loads for net in nets)],
        "steps": netload.STEPS,
        "timelines": [book.add(f) for f in timeline.timelines(drawn)],
        "queues": [book.add(f) for f in sections.queues(drawn)],
        "congestion": [book.add(f) for f in congestion.congestion(drawn)],
        "completions": [book.add(f) for f in sections.completions(drawn)],
        "waits": [book.add(f) for f in sections.waits(drawn)],
        "series": [book.add(f) for f in (*series.flows(drawn), *series.hosts(drawn))],
        "details": [(run, _details(run)) for run in best_first[:_DETAILED_MAX]],
        "facts": facts.facts(report),
        "dashes": [" ".join(map(str, d)) for d in DASHES],
    }
    loads = [{"names": net.names, "loads": net.loads} for net in nets]
    return _template().render(context | _embedded({"nets": loads, "charts": book.charts}))


def _drawn(report: Report, order: list[str]) -> list[Drawn]:
    """The runs in the charts, in the scenario's order: all, or the best and the last."""
    names = order if len(order) <= DRAWN_MAX else [*order[: DRAWN_MAX - 1], order[-1]]
    drawn = (each for each in report.choices if each[0].name in names)
    return [Drawn(runs[0], color, runs[1:]) for color, runs in enumerate(drawn)]


def _details(run: Run) -> list[Table]:
    return [
        tables.hottest_ports(run),
        congestion.pauses(run),
        tables.slowest_flows(run),
        tables.jobs(run),
        tables.datagrams(run),
        tables.events(run),
    ]


class _Book:
    """Numbers the charts of a page and collects what they draw."""

    def __init__(self) -> None:
        self.charts: list[dict[str, Any]] = []

    def add(self, figure: Figure) -> tuple[Figure, list[tuple[int, str]]]:
        """The figure with (number, heading) of each of its charts."""
        return figure, [(self._number(chart), heading) for heading, chart in figure.charts]

    def _number(self, chart: Chart) -> int:
        self.charts.append({"spec": chart.spec, "columns": chart.columns})
        return len(self.charts) - 1


def _embedded(data: dict[str, Any]) -> dict[str, Any]:
    """Scripts, their hashes for the page's content security policy, style and data."""
    scripts = [bundle.script(), _resource("page.js")] if data["charts"] else [_resource("page.js")]
    digests = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    return {
        "scripts": [Markup(s) for s in scripts],  # our own and the library's: no foreign text
        "policy": " ".join(f"'sha256-{d}'" for d in digests),
        "style": Markup(_resource("style.css")),
        "data": Markup(script_json(data)),
    }


def script_json(data: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever names it holds."""
    written = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for sign in "<>&\u2028\u2029":
        written = written.replace(sign, f"\\u{ord(sign):04x}")
    return written


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["breakable"] = _breakable
    return environment.from_string(_resource("page.html.j2"))


def _breakable(name: str) -> Markup:
    """A dotted name that breaks between its parts on narrow screens."""
    return Markup(".<wbr>").join(name.split("."))


def _resource(name: str) -> str:
    return files("incast.report").joinpath(name).read_text(encoding="utf-8")
