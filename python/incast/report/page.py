"""Puts the page together: template, style, scripts and data in one file that needs no network."""

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from incast.report import bundle, facts, netload, sections, tables
from incast.report.answer import answer, ranked
from incast.report.charts import DASHES, Chart
from incast.report.load import Report
from incast.report.measures import figures, measures
from incast.report.sections import DRAWN_MAX, Drawn, Figure


def render(report: Report) -> str:
    """The whole page."""
    runs = report.runs
    computed = [figures(each) for each in report.choices]
    compared = measures(computed)
    order = [f.name for f in ranked(computed, compared[0].key)] if compared else [r.name for r in runs]
    first = [i for name in order for i, run in enumerate(runs) if run.name == name]
    chosen = sorted(first[: DRAWN_MAX - 1] + first[-1:]) if len(runs) > DRAWN_MAX else range(len(runs))
    drawn = [Drawn(runs[i], slot) for slot, i in enumerate(chosen)]
    book = _Book()
    by_name = {d.run.name: slot for slot, d in enumerate(drawn)}
    load_order = [(by_name[name], runs[i]) for name, i in zip(order, first, strict=True) if name in by_name]
    nets = netload.drawings(load_order)
    data: dict[str, Any] = {"nets": [{"names": n.names, "loads": n.loads} for n in nets]}
    context = {
        "report": report,
        "answer": answer(runs, computed, compared),
        "choices": tables.choices(computed, compared) if len(runs) > 1 else None,
        "settings": facts.settings(runs) if len(runs) > 1 else None,
        "nets": nets,
        "load_order": [(slot, run.name) for slot, run in load_order],
        "steps": netload.STEPS,
        "queues": [book.add(f) for f in sections.queues(drawn)],
        "completions": [book.add(f) for f in sections.completions(drawn)],
        "waits": [book.add(f) for f in sections.waits(drawn)],
        "details": [
            (
                runs[i],
                tables.jobs(runs[i]),
                tables.hottest_ports(runs[i]),
                tables.slowest_flows(runs[i]),
                tables.datagrams(runs[i]),
                tables.events(runs[i]),
            )
            for i in first[:20]
        ],
        "thresholds": facts.thresholds(runs),
        "facts": facts.facts(report),
        "seeds": max(len(each) for each in report.choices),
        "drawn": len(drawn),
        "in_all": len(runs),
        "dashes": [" ".join(map(str, d)) for d in DASHES],
    }
    return _template().render(context | _embedded(data | {"charts": book.charts}))


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
    return environment.from_string(_resource("page.html.j2"))


def _resource(name: str) -> str:
    return files("incast.report").joinpath(name).read_text(encoding="utf-8")
