"""The report of a run: what is on the page, in which order."""

from typing import Any

from incast.choose import Ranking, rank
from incast.kinds import KINDS, traits
from incast.overview import Choices
from incast.report import (
    buffers,
    congestion,
    facts,
    html,
    netload,
    pausing,
    sections,
    series,
    tables,
    timeline,
    ways,
)
from incast.report.answer import answer
from incast.report.dots import Dots, dots
from incast.report.foreground import foreground, switch_waits
from incast.report.load import Report
from incast.report.parts import Drawn, Section, Table
from incast.report.run import Run
from incast.report.sections import DRAWN_MAX

_DETAILED_MAX = 20  # choices whose tables are shown; the table of choices has all


def render(report: Report) -> str:
    """The whole page."""
    runs = report.runs
    choices = {each[0].name: each for each in report.choices}
    ranking = rank(choices)
    order = [*ranking.figures, *ranking.out]
    best_first = sorted(runs, key=lambda run: order.index(run.name))
    drawn = _drawn(report, order)
    by_rank = sorted(drawn, key=lambda d: order.index(d.run.name))
    nets = netload.drawings([(d.color, d.run) for d in by_rank])
    book = html.Book()
    kinds = {kind for run in runs for kind in foreground(run)["kind"].drop_nulls()}
    context = {
        "report": report,
        "seeds": max(len(each) for each in report.choices),
        "answer": answer(choices, runs, ranking),
        "dots": _dots(choices, ranking, drawn),
        "choices": tables.choices(choices, ranking) if len(runs) > 1 else None,
        "thresholds": facts.thresholds(runs),
        "settings": facts.settings(runs) if len(runs) > 1 else None,
        "drawn": drawn,
        "nets": nets,
        "picks": [d for d in by_rank if any(d.color in net.runs for net in nets)],
        "steps": netload.STEPS,
        "dropped": any(net.dropped for net in nets),
        "on_sockets": all(run.summary.get("live") for run in runs),
        "has_flows": any(traits(kind).flows == "timed" for kind in kinds),
        "timelines": [book.add(f) for f in timeline.timelines(drawn)],
        "queues": [book.add(f) for f in sections.queues(drawn)],
        "congestion": [book.add(f) for f in congestion.congestion(drawn)],
        "own": _own(drawn, book),
        "completions": [book.add(f) for f in sections.completions(drawn)],
        "waits": [book.add(f) for f in sections.waits(drawn)],
        "series": [book.add(f) for f in (*series.flows(drawn), *series.hosts(drawn))],
        "absent": _absent(runs, kinds),
        "details": [(run, _details(run)) for run in best_first[:_DETAILED_MAX]],
        "facts": facts.facts(report),
    }
    context["contents"] = _contents(context)
    switch_waits.cache_clear()  # It keeps the last run, and who asked for the page may go on for long.
    return html.page("page.html.j2", context, {"charts": book.charts}, [net.data() for net in nets])


_SECTIONS = {
    "figures": "Figures",
    "why": "Why",
    "queue": "Queues",
    "timeline": "Timeline",
    "congestion": "Drops and latency",
    "own": "",
    "completion": "Flow completion",
    "wait": "Waiting",
    "series": "Flows and hosts",
    "tables": "Tables",
    "facts": "The run",
}
"""The sections of the page in their order, by the ids of their headings."""


def _contents(context: dict[str, Any]) -> list[tuple[str, str]]:
    """The sections that this page has, with their links' words."""
    shown = {
        "figures": context["choices"] or context["thresholds"].rows,
        "queue": context["queues"] or not context["on_sockets"],
        "timeline": context["timelines"],
        "congestion": context["congestion"],
        "completion": context["completions"] or context["has_flows"],
        "wait": context["waits"] or not context["on_sockets"],
        "series": context["series"],
    }
    listed: list[tuple[str, str]] = []
    for id_, title in _SECTIONS.items():
        if id_ == "own":
            listed += [(part.id, part.title) for part, _ in context["own"]]
        elif shown.get(id_, True):
            listed.append((id_, title))
    return listed


def _dots(choices: Choices, ranking: Ranking, drawn: list[Drawn]) -> Dots | None:
    """Every seed of every choice, where there are several of either."""
    if len(choices) == 1 and ranking.seeds == 1:
        return None
    return dots(choices, ranking, {d.run.name: d.color for d in drawn})


def _own(drawn: list[Drawn], book: html.Book) -> list[tuple[Section, list[Any]]]:
    """Sections of the network and of the kinds, as far as there is something to draw."""
    seen = [*buffers.buffers(drawn), *ways.ecmp(drawn), *pausing.pausing(drawn)]
    network = Section("buffers", "Buffers, ways and pauses over time", seen, folded=True)
    found = (network, *(kind.section(drawn) for kind in KINDS.values()))
    return [(each, [book.add(f) for f in each.figures]) for each in found if each and each.figures]


def _absent(runs: tuple[Run, ...], kinds: set[str]) -> set[str]:
    """Tables that are left out where they are empty: most runs have none, or these can't."""
    flowless = bool(kinds) and all(traits(kind).flows == "none" for kind in kinds)
    on_sockets = all(run.summary.get("live") for run in runs)
    ports = {"Hottest ports"} if on_sockets else set()
    return {
        "Datagrams",
        "Pauses",
        *ports,
        *({"Slowest flows"} if flowless else ()),
    }


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
        *(table for kind in KINDS.values() for table in kind.tables(run)),
        tables.datagrams(run),
        tables.events(run),
    ]
