"""The answer in a few plain sentences, the same for terminal, report and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from incast import skipping, text
from incast.choose import Ranking, deciding, rank
from incast.contrast import MARGIN, SEEDS_MAX, Contrast, means
from incast.metric import Metric
from incast.metrics import DONE
from incast.samples import Summarised, samples

_TIMES_FROM = 2.0
"""From three times the base on, a sentence tells a difference as a factor."""
_FACTOR_FROM = 9.0
"""From ten times on, a table does."""


def answer(choices: Mapping[str, Sequence[Summarised]]) -> list[str]:
    """What came of a run or of several choices: the headline, then what qualifies it."""
    said = _of_choices(rank(choices)) if len(choices) > 1 else _of_one(choices)
    return [*said, *_without_chance(choices), *skipping.sentences(choices)]


def _of_one(choices: Mapping[str, Sequence[Summarised]]) -> list[str]:
    way, metric = deciding(choices)
    runs = next(iter(choices.values()), [])
    found = samples(runs, way)
    if len(found) < len(runs) or not found:
        return ["Not all jobs were done." if metric is DONE else f"{_upper(metric.label)} is not known."]
    shown = metric.text(means({"": found})[""])
    several = f", the mean of {len(found)} seeds" if len(found) > 1 else ""
    spread = text.span(min(found.values()), max(found.values()), metric.text)
    spread = f" ({spread})" if spread else ""
    if metric is DONE:
        return [f"All jobs were done after {shown}{several}{spread}."]
    return [f"{_upper(metric.label)}: {shown}{several}{spread}."]


def _told(change: float, metric: Metric) -> str:
    """How much a figure differs: `31 % longer`, `8 % less`, `12 times as much`."""
    time = metric.unit == "_ps"
    if change >= _TIMES_FROM:
        return f"{text.digits(1 + change)} times as {'long' if time else 'much'}"
    more, less = ("longer", "shorter") if time else ("more", "less")
    return f"{_percents(abs(change))} % {more if change >= 0 else less}"


def _of_choices(ranking: Ranking) -> Iterator[str]:
    names = list(ranking.figures)
    if not names:
        yield f"{text.listed(list(ranking.out))} cannot be compared: none finished what is measured."
        return
    yield _headline(ranking)
    if ranking.undecided:
        yield _what_decides(ranking)
    behind = ranking.behind
    if behind:
        told = list(dict.fromkeys((behind[0], behind[-1])))
        yield _upper(text.listed([_apart(ranking, name) for name in told])) + "."
    for out, why in (
        ([name for name in ranking.out if name not in ranking.lacking], "did not finish"),
        (list(ranking.lacking), f"{_do(ranking.lacking, 'has', 'have')} no figure of {ranking.metric.label}"),
    ):
        if out:
            yield f"{text.listed(out)} {why}, and {_do(out, 'competes', 'compete')} with no other."
    if ranking.seeds == 1 and len(names) > 1:
        yield "Each choice was run with one seed, so small differences can be chance: --seeds 5 shows."


def _without_chance(choices: Mapping[str, Sequence[Summarised]]) -> Iterator[str]:
    """Says where seeds are no measure of chance, because all events of their runs are the same."""
    same = [name for name, runs in choices.items() if _is_fixed(runs)]
    if same:
        where = f" with {text.listed(same)}" if len(same) < len(choices) else ""
        yield (
            f"All seeds give the same{where}: nothing there is left to chance. Real hosts differ by up to a "
            "microsecond, which can decide what is lost; host.packet_jitter has that."
        )


def _is_fixed(runs: Sequence[Summarised]) -> bool:
    events = {run.summary.get("fingerprint") for run in runs}
    return len(runs) > 1 and len(events) == 1 and None not in events


def _headline(ranking: Ranking) -> str:
    metric, figures = ranking.metric, ranking.figures
    first = list(ranking.first)
    least = metric.text(figures[first[0]])
    if len(figures) == 1:
        what = f"all jobs were done after {least}" if metric is DONE else f"its {metric.label} is {least}"
        return f"Only {first[0]} finished: {what}."
    if len(first) == len(figures):
        most = metric.text(figures[list(figures)[-1]])
        span = least if least == most else f"{least} to {most}"
        return f"The choices are alike by {metric.label}: {span}, within {text.percent(MARGIN)}."
    several = f" (alike: within {text.percent(MARGIN)})" if len(first) > 1 else ""
    if metric is DONE:
        does = f"{_do(first, 'finishes', 'finish')} all jobs first, after {least}"
    else:
        best = "highest" if metric.better > 0 else "shortest" if metric.unit == "_ps" else "lowest"
        does = f"{_do(first, 'has', 'have')} the {best} {metric.label}: {least}"
    return f"{text.listed(first)} {does}{several}{_undecided(ranking)}."


def _apart(ranking: Ranking, name: str) -> str:
    """How far a choice is behind the best, and how sure that is."""
    found, metric = ranking.contrasts[name], ranking.metric
    does = "takes" if metric is DONE else "is"
    by = metric.text(ranking.figures[name]) if found.change is None else _told(found.change, metric)
    return f"with {name} it {does} {by}{_sure(found)}"


def _sure(found: Contrast) -> str:
    if found.interval is None:
        return ""
    times = (found.change or 0) >= _TIMES_FROM
    seeds = f"; in {max(found.more, found.less)} of {found.seeds} seeds" if found.seeds else ""
    return f" (95 % interval: {_interval(found.interval, times)}{seeds})"


def between(found: Contrast) -> str:
    """The interval of a difference as tables have it, in the form of `signed`."""
    return _interval(found.interval, (found.change or 0) >= _FACTOR_FROM) if found.interval else ""


def seeds_text(found: Contrast) -> str:
    """In how many of the seeds that both have it is more, or less, as tables have it."""
    if not found.seeds:
        return "other seeds"
    side = "equal" if found.more == found.less == 0 else "more" if found.more >= found.less else "less"
    return f"{side} in {max(found.more, found.less) or found.seeds} of {found.seeds}"


def _interval(interval: tuple[float, float], times: bool) -> str:
    """`12 to 54 %`, `−3 to +9 %`; of what is less, without the sign; in `times`: `9 to 14 times`."""
    low, high = sorted(interval, key=abs) if interval[1] <= 0 else interval
    if times:
        return f"{text.digits(1 + low)} to {text.digits(1 + high)} times"
    if low < 0 < high:
        return f"−{_percents(-low)} to +{_percents(high)} %"
    ends = (_percents(abs(low)), _percents(abs(high)))
    return f"{ends[0]} %" if ends[0] == ends[1] else f"{ends[0]} to {ends[1]} %"


def signed(found: Contrast) -> str:
    """A difference as `+12 %`, `−8.1 %` or `×14`; in brackets where the seeds don't decide."""
    part = found.change
    if part is None or abs(part) < 0.0005:  # 0.0 %
        return ""
    sign = "+" if part > 0 else "−"
    said = f"×{1 + part:.0f}" if part >= _FACTOR_FROM else f"{sign}{_percents(abs(part))} %"
    return f"({said})" if found.verdict == "open" else said


def _percents(part: float) -> str:
    return f"{part * 100:.{0 if part >= 0.0995 else 1}f}"


def _undecided(ranking: Ranking) -> str:
    """Which choices these seeds do not tell from the best: part of the headline."""
    names = text.listed(list(ranking.undecided))
    if not names:
        return ""
    return f", but {text.plural(ranking.seeds, 'seed')} do not tell {names} from {ranking.best}"


def _what_decides(ranking: Ranking) -> str:
    """How many seeds would tell them apart, as far as that is known."""
    found = [ranking.contrasts[name] for name in ranking.undecided]
    needed = [each.needed for each in found if each.needed is not None]
    if len(needed) == len(found):
        return f"Some {max(needed)} seeds would (--seeds {max(needed)})."
    if needed:
        return f"Some {min(needed)} seeds would tell one more (--seeds {min(needed)})."
    if all(each.interval and each.seeds > 1 for each in found):
        return f"{SEEDS_MAX} seeds would not."
    return "More seeds may."


def _do(names: Sequence[str], one: str, many: str) -> str:
    return one if len(names) == 1 else many


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
