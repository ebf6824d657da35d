"""The answer in plain words: which choice is better, by how much, and what the tables say of why.

Every sentence is computed. Names come from people and are escaped (`Markup.format` does it).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from incast import text
from incast.comparison import interval
from incast.report import phases
from incast.report.evidence import apart, evidence, name
from incast.report.measures import Figures
from incast.report.parts import Measure
from incast.report.run import Run

ALIKE = 0.01
"""Two figures this near (as a part of the smaller one) are called equal."""


@dataclass(frozen=True)
class Answer:
    """What stands at the top of the report."""

    headline: Markup
    sentences: tuple[Markup, ...]
    reasons: tuple[Markup, ...]
    """One paragraph a choice: what the tables say about it."""


def answer(runs: tuple[Run, ...], figures: list[Figures], measures: list[Measure]) -> Answer:
    """The answer for one run or for several choices."""
    if len(runs) == 1:
        return _of_one(runs[0], figures[0], measures)
    return _of_choices(runs, figures, measures)


def value(measure: Measure, figure: float | None) -> str:
    """A figure with its unit."""
    return {"time": text.time, "part": text.percent}.get(measure.kind, text.count)(figure)


def ranked(figures: list[Figures], key: str) -> list[Figures]:
    """Runs from the lowest to the highest figure; last, those that lack it or left work undone."""

    def order(index: int) -> tuple[bool, bool, bool, float, int]:
        v = figures[index].values
        undone = key != "unfinished" and bool(v["unfinished"])
        return figures[index].incomplete, v[key] is None, undone, v[key] or 0.0, index

    return [figures[i] for i in sorted(range(len(figures)), key=order)]


def best(figures: list[Figures], measure: Measure) -> set[str]:
    """Names of the runs that are best by a measure, equals included; empty when all are equal."""
    if not measure.compared:
        return set()
    known = [f for f in figures if f.values[measure.key] is not None and not f.incomplete]
    if len(known) < 2 and measure.key not in ("done", "group"):
        return set()
    if measure.kind != "count":
        known = [f for f in known if not f.values["unfinished"]] or known
    if not known:
        return set()
    first = min(known, key=lambda f: f.values[measure.key] or 0.0)
    winners = {f.name for f in known if _equal(f, first, measure.key)}
    return winners if len(winners) < len(figures) else set()


def _equal(figures: Figures, least: Figures, key: str) -> bool:
    """Whether a figure is as good as the least: alike or, over several seeds, not surely greater."""
    if alike(figures.values[key] or 0.0, least.values[key] or 0.0):
        return True
    between = interval(least.samples[key], figures.samples[key])
    return between is not None and between[0] <= 0


def alike(a: float, b: float) -> bool:
    """Whether the difference is too small to speak of."""
    return abs(a - b) <= ALIKE * min(abs(a), abs(b))


def difference(figure: float | None, least: float | None) -> str:
    """How much a figure is above the best: `+18 %`, `× 12`, or nothing to say."""
    if figure is None or least is None or not 0 < least <= figure or alike(figure, least):
        return ""
    ratio = figure / least
    return f"× {text.digits(ratio)}" if ratio >= 3 else f"+{text.digits((ratio - 1) * 100)} %"


def _of_choices(runs: tuple[Run, ...], figures: list[Figures], measures: list[Measure]) -> Answer:
    first = measures[0] if measures else None
    compared = _comparable(figures, first.key) if first else []
    if first is None or not compared:
        names = _join([name(f.name) for f in figures])
        headline = Markup("The choices {} cannot be compared: none finished what is measured.").format(names)
        return Answer(headline + _stuck(runs), _cautions(figures), _reasons(runs, figures, None))
    order = ranked(figures, first.key)
    winners = best(figures, first)
    sentences = (
        *_certainty(compared, first, winners),
        *_differences(runs, order, winners),
        *_also(figures, measures[1:], order[0]),
        *_cautions(figures),
    )
    headline = _headline(compared, first, winners) + _stuck(runs)
    return Answer(headline, sentences, _reasons(runs, order, first))


def _stuck(runs: tuple[Run, ...]) -> Markup:
    """What did not end, choice by choice; nothing where all tasks did."""
    found = [(run, said) for run in runs if (said := phases.stuck(run))]
    each = [
        Markup(" {} did not finish{}: {}.").format(name(run.name), _why(run), said) for run, said in found
    ]
    return Markup("").join(each)


def _why(run: Run) -> str:
    return ", PFC is in a deadlock" if run.summary.get("end") == "deadlock" else ""


def _comparable(figures: list[Figures], key: str) -> list[Figures]:
    """Best first: the complete runs with the figure; if some of these finished everything, only those."""
    known = [f for f in ranked(figures, key) if f.values[key] is not None and not f.incomplete]
    return [f for f in known if not f.values["unfinished"]] or known


def _headline(order: list[Figures], first: Measure, winners: set[str]) -> Markup:
    top, last = order[0], order[-1]
    least = value(first, top.values[first.key])
    if len(order) == 1:
        return Markup("Only {} finished: {} {}.").format(
            name(top.name), _lower(first.label), _after(first, least)
        )
    if not winners.intersection(f.name for f in order) or len(winners) == len(order):
        return Markup("The choices are equal by {}: {} to {}.").format(
            _lower(first.label), least, value(first, last.values[first.key])
        )
    who = _join([name(f.name) for f in order if f.name in winners])
    does = f"has the {'lowest' if first.kind == 'part' else 'shortest'} {_lower(first.label)}"
    if first.key == "done":
        does = "finishes its jobs first" if len(winners) == 1 else "finish their jobs first"
    elif len(winners) > 1:
        does = f"lead by {_lower(first.label)}"
    rest = [f for f in order if f.name not in winners]
    leads = [_lead(top, other, first) for other in rest[:1] + rest[1:][-1:]]
    return Markup("{} {}: {}, {}.").format(who, does, _after(first, least), _join(leads))


def _certainty(order: list[Figures], first: Measure, winners: set[str]) -> Iterable[Markup]:
    """How far seeds allow to trust the lead over the next choice."""
    rest = [f for f in order if f.name not in winners]
    if not rest or not winners or order[0].seeds < 2:
        return
    between = interval(order[0].samples[first.key], rest[0].samples[first.key])
    if between is None:
        return
    low, high = (value(first, end) for end in between)
    sure = Markup("How sure: over {}, {} takes {} to {} longer than {} (95 % interval).").format(
        text.plural(order[0].seeds, "seed"), name(rest[0].name), low, high, name(order[0].name)
    )
    yield sure + " What follows is the first seed's run."


def _after(measure: Measure, figure: str) -> str:
    return f"after {figure}" if measure.key == "done" else figure


def _lead(top: Figures, other: Figures, measure: Measure) -> Markup:
    least, more = top.values[measure.key] or 0, other.values[measure.key] or 0
    part = text.percent(1 - least / more) if more else text.percent(0)
    return Markup("{} less than {} ({})").format(part, name(other.name), value(measure, more))


def _differences(runs: tuple[Run, ...], order: list[Figures], winners: set[str]) -> Iterable[Markup]:
    """What sets the next and the last apart from the best."""
    by_name = {run.name: run for run in runs}
    rest = [f for f in order if f.name not in winners] if winners else []
    for other in rest[:1] + rest[1:][-1:]:
        said = apart((by_name[order[0].name], order[0]), (by_name[other.name], other))
        if said:
            yield said


def _also(figures: list[Figures], others: list[Measure], top: Figures) -> Iterable[Markup]:
    """On what else the first is best, and where another is better."""
    also, elsewhere = [], []
    for measure in others:
        winners = best(figures, measure)
        if top.name in winners:
            also.append(_lower(measure.label))
        elif winners:
            lead = next(f for f in figures if f.name in winners)
            elsewhere.append(
                Markup("{} by {} ({} against {})").format(
                    _join([name(f.name) for f in figures if f.name in winners]),
                    _lower(measure.label),
                    value(measure, lead.values[measure.key]),
                    value(measure, top.values[measure.key]),
                )
            )
    if also:
        yield Markup("{} is also best by {}.").format(name(top.name), text.listed(also))
    if elsewhere:
        yield Markup("Better than {}: {}.").format(name(top.name), _join(elsewhere))


def _cautions(figures: list[Figures]) -> tuple[Markup, ...]:
    unfinished = [f for f in figures if f.values["unfinished"]]
    if not unfinished:
        return ()
    said = [
        Markup("{} ({} of {} flows)").format(
            name(f.name), text.count(f.values["unfinished"]), text.count(f.flows)
        )
        for f in unfinished
    ]
    return (Markup("Not everything finished: {}. Times there cover what did finish.").format(_join(said)),)


def _of_one(run: Run, figures: Figures, measures: list[Measure]) -> Answer:
    values = figures.values
    first = next((m for m in measures if m.kind != "count" and values[m.key] is not None), None)
    if figures.flows and values["fct_p50"] is None:
        headline = Markup("None of the {} finished.").format(text.plural(figures.flows, "flow"))
    elif values["unfinished"]:
        headline = Markup("{} of the {} did not finish.").format(
            text.count(values["unfinished"]), text.plural(figures.flows, "flow")
        )
    elif first is None:
        headline = Markup("Nothing was measured: the run has no flows.")
    else:
        shown = _after(first, value(first, values[first.key]))
        headline = Markup("{}{} {}.").format(first.label, "" if first.key == "done" else ":", shown)
    if said := phases.stuck(run):
        headline = Markup("The run did not finish{}: {}.").format(_why(run), said)
    sentences = []
    if values["fct_p50"] is not None:
        which = "those that did" if values["unfinished"] else f"its {text.plural(figures.flows, 'flow')}"
        sentences.append(
            Markup("Half of {} completed within {}, 99 % within {}.").format(
                which, text.time(values["fct_p50"]), text.time(values["fct_p99"])
            )
        )
    if figures.seeds > 1:
        sentences.append(
            Markup("These are means over {} seeds; what follows is the first seed's run.").format(
                figures.seeds
            )
        )
    return Answer(headline, tuple(sentences), (_join_sentences(evidence(run, figures)),))


def _reasons(runs: tuple[Run, ...], order: list[Figures], first: Measure | None) -> tuple[Markup, ...]:
    by_name = {run.name: run for run in runs}
    least = order[0].values[first.key] if first else None
    paragraphs = []
    for figures in order[:8]:
        gap = difference(figures.values[first.key], least) if first else ""
        shown = value(first, figures.values[first.key]) if first else ""
        lead = Markup("{}: {}{}. ").format(name(figures.name), shown, f" ({gap})" if gap else "")
        said = evidence(by_name[figures.name], figures)
        paragraphs.append(
            (lead if shown else Markup("{}. ").format(name(figures.name))) + _join_sentences(said)
        )
    return tuple(paragraphs)


def _join(parts: list[Markup]) -> Markup:
    if len(parts) < 2:
        return parts[0] if parts else Markup("")
    return Markup(", ").join(parts[:-1]) + Markup(" and ") + parts[-1]


def _join_sentences(parts: list[Markup]) -> Markup:
    return Markup(" ").join(parts) if parts else Markup("No figures of ports or flows were recorded.")


def _lower(label: str) -> str:
    return label if label[:2].isupper() else label[:1].lower() + label[1:]
