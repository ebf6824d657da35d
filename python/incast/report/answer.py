"""What stands at the top of the report: the answer in words, and what the tables say of why.

The answer is `incast.answer`'s, as in the terminal. Every sentence is computed; names come from people and
are escaped (`Markup.format` does it).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from incast import text
from incast.answer import answer as plain_answer
from incast.choose import Ranking
from incast.contrast import contrast
from incast.frames import quantile_of
from incast.overview import Choices, compared
from incast.report import phases
from incast.report.evidence import apart, evidence, name
from incast.report.foreground import timed_flows
from incast.report.run import Run

_EXPLAINED_MAX = 8
"""Of so many choices it is told where their time went."""


@dataclass(frozen=True)
class Answer:
    """What stands at the top of the report."""

    headline: Markup
    sentences: tuple[Markup, ...]
    reasons: tuple[Markup, ...]
    """One paragraph a choice: what the tables of the drawn run say about it."""


def answer(choices: Choices, drawn: tuple[Run, ...], ranking: Ranking) -> Answer:
    """The answer for one run, for one choice's seeds, or for several choices; `drawn` has a run of each."""
    headline, *more = (Markup("{}").format(each) for each in plain_answer(choices))
    if len(drawn) == 1:
        run = drawn[0]
        undone, said = _completion(run)
        if ranking.seeds > 1:
            # The headline is of all seeds.
            of_first = [Markup("Of the first seed: {}").format(each) for each in (undone, *said) if each]
            return Answer(headline + _stuck(drawn), (*more, *of_first), (_evidence(run),))
        return Answer((undone or headline) + _stuck(drawn), (*more, *said), (_evidence(run),))
    first = next((run for run in drawn if run.name == ranking.best), None)
    reasons = [] if first is None else list(_differences(drawn, first, ranking))
    ordered = sorted(drawn, key=lambda run: [*ranking.figures, *ranking.out].index(run.name))
    reasons += [Markup("{}: {}").format(name(run.name), _evidence(run)) for run in ordered[:_EXPLAINED_MAX]]
    sentences = (*more, *_elsewhere(choices, ranking), *_unfinished(drawn))
    return Answer(headline + _stuck(drawn), sentences, tuple(reasons))


def _completion(run: Run) -> tuple[Markup | None, list[Markup]]:
    """What to say first where flows did not finish, and within what time most of them did."""
    flows = timed_flows(run)
    times = flows["fct_ps"].drop_nulls()
    undone = flows.height - times.len()
    of = text.plural(flows.height, "flow")
    if not flows.height or not times.len():
        return (Markup("None of the {} finished.").format(of) if flows.height else None), []
    which = "those that did" if undone else f"its {of}"
    said = Markup("Half of {} completed within {}, 99 % within {}.").format(
        which, text.time(quantile_of(times, 0.5)), text.time(quantile_of(times, 0.99))
    )
    return (Markup("{} of the {} did not finish.").format(text.count(undone), of) if undone else None), [said]


def _stuck(drawn: tuple[Run, ...]) -> Markup:
    """What did not end, choice by choice; nothing where all tasks did."""
    found = [(run, said) for run in drawn if (said := phases.stuck(run))]
    each = [
        Markup(" {} did not finish{}: {}.").format(
            name(run.name) if len(drawn) > 1 else "The run",
            ", PFC is in a deadlock" if run.summary.get("end") == "deadlock" else "",
            said,
        )
        for run, said in found
    ]
    return Markup("").join(each)


def _differences(drawn: tuple[Run, ...], first: Run, ranking: Ranking) -> Iterable[Markup]:
    """What sets the nearest and the farthest choice that is surely behind apart from the best."""
    by_name = {run.name: run for run in drawn}
    for other in dict.fromkeys((*ranking.behind[:1], *ranking.behind[-1:])):
        if said := apart(first, by_name[other]):
            yield said


def _elsewhere(choices: Choices, ranking: Ranking) -> Iterable[Markup]:
    """By which other figures a choice is surely better than the best."""
    if ranking.best is None:
        return
    better = []
    for each in compared(choices, ranking, every=False):
        base = each.samples[ranking.best]
        surely = "less" if each.metric.better < 0 else "more"
        found = {other: contrast(base, each.samples[other]) for other in ranking.figures}
        leads = [other for other, said in found.items() if said and said.verdict == surely]
        if each.metric.better and leads:
            lead = min(leads, key=lambda other: -each.metric.better * (each.means[other] or 0))
            better.append(
                Markup("{} by {} ({} against {})").format(
                    name(lead),
                    each.label,
                    each.metric.text(each.means[lead]),
                    each.metric.text(each.means[ranking.best]),
                )
            )
    if better:
        listed = Markup(", ").join(better[:-1]) + Markup(" and ") * (len(better) > 1) + better[-1]
        yield Markup("Better than {}: {}.").format(name(ranking.best), listed)


def _unfinished(drawn: tuple[Run, ...]) -> Iterable[Markup]:
    """Choices in whose drawn run flows did not finish."""
    said = []
    for run in drawn:
        flows = timed_flows(run)
        if undone := flows["fct_ps"].null_count():
            of = text.count(flows.height)
            said.append(Markup("{} ({} of {} flows)").format(name(run.name), text.count(undone), of))
    if said:
        yield Markup("Not everything finished: {}. Times there cover what did finish.").format(
            Markup(", ").join(said)
        )


def _evidence(run: Run) -> Markup:
    found = evidence(run)
    return Markup(" ").join(found) if found else Markup("No figures of ports or flows were recorded.")
