"""Whether a claim holds: its tests over the cells that were run, seed against seed.

A test compares cells by linear combinations of their figures, like a − 0.95·b, and the interval of 95 % of
each one's mean over the seeds. Where it leaves out zero, the sign is certain; otherwise the test is
undecided. Where both cells ran the same seeds, seed is compared with seed (`incast.comparison.interval`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from incast.hints import unknown
from incast.samples import Samples, interval, mean
from incast.study.axes import Cell, Selection, select
from incast.study.claims import Claim, Test
from incast.study.figures import Figure
from incast.study.study import Study


class Verdict(StrEnum):
    """How a claim or a comparison came out."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    UNTESTED = "not tested"


@dataclass(frozen=True)
class Comparison:
    """One test in one pair of cells, or in one cell."""

    test: str
    """The test, as text."""
    metric: str
    """The figure, with its unit."""
    cells: tuple[str, ...]
    ours: tuple[float | None, ...]
    """The cells' means."""
    published: tuple[float | None, ...]
    """The published figures of the same cells, where the test is about what they are of."""
    verdict: Verdict
    why: str = ""
    """What is missing, or in the way."""


@dataclass(frozen=True)
class Finding:
    """A claim and how it came out."""

    claim: Claim
    verdict: Verdict
    comparisons: tuple[Comparison, ...]
    figures: str = ""
    """Those behind it, of a study that judges its claims itself (`incast.study.judged`)."""

    @property
    def tested(self) -> int:
        """How many of the comparisons could be made."""
        return sum(each.verdict != Verdict.UNTESTED for each in self.comparisons)

    def json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            **self.claim.model_dump(
                include={"id", "kind", "place", "text", "figure", "reason", "checked_by"}
            ),
            "verdict": self.verdict,
            "tested": self.tested,
            "figures": self.figures,
            "comparisons": [asdict(each) for each in self.comparisons],
        }


def figure_of(test: Test, study: Study) -> Figure:
    """What the test is about."""
    judged = study.judged_by
    name = test.metric or (judged.name if judged else "")
    if name not in study.figures:
        raise ValueError(unknown("one of the study's metrics", name, study.figures))
    return study.figures[name]


def check(test: Test, study: Study) -> list[tuple[Cell, ...]]:
    """The cells that the test compares; `ValueError` says why it can't be made."""
    limit(test, figure_of(test, study))
    sides = [select(text, study.axes) for text in test.sides]
    over = select(test.over, study.axes)
    if len(sides) == 2:
        if sides[0].allowed.keys() != sides[1].allowed.keys() or not sides[0].allowed:
            raise ValueError(f"{test.sides[0]} and {test.sides[1]} have to name values of the same axes")
        if sides[0].single() is None or sides[1].single() is None:
            raise ValueError("alternatives (|) are for `over`: each side is one value an axis")
        if twice := sides[0].allowed.keys() & over.allowed.keys():
            raise ValueError(f"over names axis {list(study.axes)[min(twice)]}, which the sides set")
    against = select(test.against, study.axes) if test.against else None
    if against and against.single() is None:
        raise ValueError(f"against {test.against}: one value an axis is expected")
    known = set(study.cells)
    found = []
    for cell in study.cells:
        if cell in sides[0] and cell in over:
            cells = (cell, *(_with(cell, each) for each in sides[1:]))
            if all(each in known and _against(each, against) in known for each in cells):
                found.append(cells)
    if not found:
        raise ValueError("the study has no cells that it could compare")
    return found


def limit(test: Test, figure: Figure) -> float | None:
    """The value that `above` and `below` compare with, in base units."""
    if test.value is None:
        return None
    if test.against:
        return float(test.value)
    if test.value == 0:
        return 0.0
    if figure.metric.unit and not isinstance(test.value, str):
        raise ValueError(f"value is {test.value}: expected {figure.metric.expected}")
    return figure.metric.parse(str(test.value))


def _with(cell: Cell, selection: Selection) -> Cell:
    """The cell with the selection's values."""
    return Cell(tuple((selection.single() or {}).get(n, value) for n, value in enumerate(cell.values)))


def _against(cell: Cell, selection: Selection | None) -> Cell:
    return _with(cell, selection) if selection else cell


Measured = Mapping[Cell, Mapping[str, Samples]]
"""The figures of the cells that were run: by name, by seed."""


def judge(study: Study, measured: Measured) -> list[Finding]:
    """Every claim of the study."""
    return [_judge(claim, study, measured) for claim in study.claims]


def _judge(claim: Claim, study: Study, measured: Measured) -> Finding:
    made = tuple(
        _compare(test, cells, study, measured) for test in claim.tests for cells in check(test, study)
    )
    return Finding(claim, together(each.verdict for each in made), made)


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """All have to hold; what was not run, or with one seed only, has no say, unless nothing was."""
    said = set(verdicts)
    for verdict in (Verdict.FAILS, Verdict.UNDECIDED, Verdict.HOLDS):
        if verdict in said:
            return verdict
    return Verdict.UNTESTED


def _compare(test: Test, cells: Sequence[Cell], study: Study, measured: Measured) -> Comparison:
    figure = figure_of(test, study)
    against = select(test.against, study.axes) if test.against else None
    samples = [_samples(cell, against, figure.name, measured) for cell in cells]
    judged = study.judged_by
    about = judged is not None and figure.name == judged.name and not against
    runs = [_runs(cell, against, measured) for cell in cells]
    verdict, why = _verdict(test, samples, runs, limit(test, figure), [cell.name for cell in cells])
    return Comparison(
        test=described(test),
        metric=figure.metric.key if not against else f"{figure.name}, as a part of {test.against}",
        cells=tuple(cell.name for cell in cells),
        ours=tuple(mean(each) for each in samples),
        published=tuple(study.published.get(cell.name) if about else None for cell in cells),
        verdict=verdict,
        why=why,
    )


def _samples(cell: Cell, against: Selection | None, name: str, measured: Measured) -> Samples:
    own = measured.get(cell, {}).get(name, {})
    if against is None:
        return own
    base = measured.get(_with(cell, against), {}).get(name, {})
    return {seed: value / base[seed] for seed, value in own.items() if base.get(seed)}


def _runs(cell: Cell, against: Selection | None, measured: Measured) -> int:
    """With how many seeds the cell was run, whatever figures these runs have."""
    cells = [cell] if against is None else [cell, _with(cell, against)]
    return min(max(map(len, measured.get(each, {}).values()), default=0) for each in cells)


def _verdict(
    test: Test, samples: Sequence[Samples], runs: Sequence[int], least: float | None, names: Sequence[str]
) -> tuple[Verdict, str]:
    for count, name in zip(runs, names, strict=True):
        if not count:
            return Verdict.UNTESTED, f"no figure of {name}"
    if any(count < 2 for count in runs):
        return Verdict.UNTESTED, "one seed gives no interval: at least two are needed"
    for each, count, name in zip(samples, runs, names, strict=True):
        if len(each) < 2:  # A job that does not end has no duration: it was tested all the same.
            return Verdict.UNDECIDED, f"{len(each)} of {count} runs of {name} have the figure"
    if test.ratio and not any(samples[1].values()):
        return Verdict.UNDECIDED, f"the figure of {names[1]} is zero: nothing to divide by"
    return decide(_conditions(test, samples, least)), ""


def _conditions(test: Test, samples: Sequence[Samples], least: float | None) -> list[tuple[Samples, Samples]]:
    """Pairs whose first has to be less than the second, or at most as large with a tolerance."""
    a = samples[0]
    match test.relation:
        case "less":
            return [(a, samples[1])]
        case "above":
            return [(dict.fromkeys(a, least or 0.0), a)]
        case "below":
            return [(a, dict.fromkeys(a, least or 0.0))]
    low, high = test.between or (1 - (test.part or 0), 1 + (test.part or 0))
    return [(_times(samples[1], low), a), (a, _times(samples[1], high))]


def _times(samples: Samples, factor: float) -> Samples:
    return {seed: factor * value for seed, value in samples.items()}


def decide(conditions: Sequence[tuple[Samples, Samples]]) -> Verdict:
    """Whether the first of each pair is less than the second; two pairs are a range and include its ends."""
    said = []
    for less, more in conditions:
        low, high = interval(less, more) or (0.0, 0.0)
        if low > 0 or (low == high == 0 and len(conditions) > 1):
            said.append(Verdict.HOLDS)
        elif high < 0 or low == high == 0:
            said.append(Verdict.FAILS)
        else:
            said.append(Verdict.UNDECIDED)
    return together(said)


def described(test: Test) -> str:
    """The test as text, like `less(shallow, deep) over background`."""
    more = {"within": test.part, "above": test.value, "below": test.value}.get(test.relation)
    inside = ", ".join([*test.sides, *([str(more)] if more is not None else [])])
    text = f"{test.relation}({inside})"
    if test.between:
        text += f" in [{test.between[0]:g}, {test.between[1]:g}]"
    over = f" over {test.over}" if test.over else ""
    return text + over + (f" against {test.against}" if test.against else "")
