"""What is run of a scenario as it was written: every choice that is asked for, with every seed.

All files that it names are read, and everything is checked, before anything runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from incast.document import Mark, Node, assign
from incast.errors import Problem, ScenarioError
from incast.hints import unknown
from incast.lab.resolve import Resolved, resolve
from incast.lab.scenario import Scenario
from incast.lab.validate import validate
from incast.written import WrittenScenario


@dataclass(frozen=True)
class Variant:
    """One run."""

    choice: str
    """The choice's name; empty for the scenario itself."""
    scenario: Scenario
    """What is run."""
    resolved: Resolved
    """The same in the core's terms."""


def make_variants(
    written: WrittenScenario, only: Sequence[str] = (), seeds: Sequence[int] = ()
) -> list[Variant]:
    """The runs: every choice (or those named) with every seed (or the scenario's own).

    All problems of all of them are raised together.
    """
    validate(written.document, Scenario)
    chosen = _chosen(written, only)
    variants: list[Variant] = []
    wrong: dict[Problem, list[str]] = {}
    for choice in chosen:
        try:
            variants += _variants_of(written, choice, seeds)
        except ScenarioError as error:
            for problem in error.problems:
                wrong.setdefault(problem, []).append(choice)
    if wrong:
        raise ScenarioError([_in_choices(problem, where, chosen) for problem, where in wrong.items()])
    return variants


def _variants_of(written: WrittenScenario, choice: str, seeds: Sequence[int]) -> list[Variant]:
    document = written.variant(choice)
    variants = []
    for changed in [_seeded(document, seed) for seed in seeds] or [document]:
        scenario = validate(changed, Scenario)
        variants.append(Variant(choice, scenario, resolve(scenario, changed, written.folder)))
    return variants


def _chosen(written: WrittenScenario, only: Sequence[str]) -> list[str]:
    names = written.choices()
    for name in only:
        if name not in names:
            message = unknown("a choice", name, names) if names else "the scenario has no choices"
            raise ScenarioError([Problem(message, file=f"--choice {name}")])
    return list(only) or names or [""]


def _in_choices(problem: Problem, where: list[str], chosen: list[str]) -> Problem:
    """Says which choices have the problem, unless all have."""
    if len(where) == len(chosen):
        return problem
    return replace(problem, message=f"{problem.message} (choice {', '.join(where)})")


def _seeded(document: Node, seed: int) -> Node:
    return assign(document, "seed", Node.of(seed, Mark(f"--seed {seed}")))


def describe(variants: Sequence[Variant]) -> dict[str, Any]:
    """What would run, for `incast validate`."""
    first = variants[0].resolved
    return {
        "name": variants[0].scenario.name,
        "hosts": len(first.cluster.hosts),
        "switches": len(first.cluster.switches),
        "links": len(first.cluster.links),
        "jobs": len(first.spec["jobs"]),
        "faults": len(variants[0].scenario.faults),
        "choices": [variant.choice for variant in variants if variant.choice],
    }


def seed_list(written: WrittenScenario, seeds: int | None) -> list[int]:
    """So many seeds from the scenario's own on; none where nobody asked for several."""
    if seeds is None:
        return []
    if seeds < 1:
        raise ValueError(f"seeds: {seeds} is not allowed: at least 1")
    first = validate(written.document, Scenario).seed
    return list(range(first, first + seeds))
