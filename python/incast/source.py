"""A scenario as it was written, the changes from the command line, and its choices.

Every choice is a scenario of its own: the choice laid over the rest. What a run needs is a `Plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from incast.document import Mark, Node, assign, dump, lay_over, read_text, text_of
from incast.errors import Problem, ScenarioError
from incast.hints import unknown
from incast.lab.resolve import Resolved, resolve
from incast.lab.scenario import Scenario
from incast.lab.validate import validate


@dataclass(frozen=True)
class Plan:
    """One run."""

    choice: str
    """The choice's name; empty for the scenario itself."""
    scenario: Scenario
    """What is run."""
    resolved: Resolved
    """The same in the core's terms."""


@dataclass(frozen=True)
class Source:
    """A scenario as it was written."""

    document: Node
    """Its values, with `--set` laid over them."""
    folder: Path
    """Where the files that it names are."""
    text: str
    """What was written, for the run folder."""
    changes: tuple[str, ...] = ()
    """What `--set` said."""

    @staticmethod
    def from_file(path: Path, changes: Sequence[str] = ()) -> Source:
        """The scenario in a YAML file, with `path=value` changes."""
        text = text_of(path)
        document = read_text(text, str(path))
        if not isinstance(document.value, dict):
            raise ScenarioError(
                [Problem("expected a mapping of fields, like name and topology", file=str(path))]
            )
        problems: list[Problem] = []
        for change in changes:
            try:
                document = _set(document, change)
            except ScenarioError as error:
                problems += error.problems
        if problems:
            raise ScenarioError(problems)
        return Source(document, path.parent, text, tuple(changes))

    @staticmethod
    def from_model(scenario: Scenario, folder: Path) -> Source:
        """A scenario made in Python."""
        data = scenario.model_dump(by_alias=True, exclude_none=True)
        text = dump(data)
        return Source(Node.of(data), folder, text)

    def choices(self) -> list[str]:
        """Names of the choices."""
        listed = self.document.child("choices")
        return list(listed.value) if listed and isinstance(listed.value, dict) else []

    def variant(self, choice: str) -> Node:
        """The document with a choice laid over it, and no choices any more."""
        assert isinstance(self.document.value, dict)
        base = Node({k: v for k, v in self.document.value.items() if k != "choices"}, self.document.mark)
        listed = self.document.child("choices")
        over = listed.child(choice) if listed and choice else None
        if over is None or not isinstance(over.value, dict):
            return base
        for key, value in over.value.items():
            if key.split(".")[0] in ("choices", "name"):
                where = f"choices.{choice}.{key}"
                raise ScenarioError(
                    [Problem(f"a choice can't change {key}", where, value.mark.file, value.mark.line)]
                )
        return lay_over(base, over.value)

    def scenario(self) -> Scenario:
        """The scenario without any choice laid over it."""
        return validate(self.document)

    def plans(self, only: Sequence[str] = (), seeds: Sequence[int] = ()) -> list[Plan]:
        """The runs: every choice (or those named) with every seed (or the scenario's own).

        All problems of all of them are raised together.
        """
        self.scenario()
        chosen = self._chosen(only)
        plans: list[Plan] = []
        wrong: dict[Problem, list[str]] = {}
        for choice in chosen:
            try:
                plans += self._plans_of(choice, seeds)
            except ScenarioError as error:
                for problem in error.problems:
                    wrong.setdefault(problem, []).append(choice)
        if wrong:
            raise ScenarioError([_in_choices(problem, where, chosen) for problem, where in wrong.items()])
        return plans

    def _plans_of(self, choice: str, seeds: Sequence[int]) -> list[Plan]:
        document = self.variant(choice)
        plans = []
        for changed in [_seeded(document, seed) for seed in seeds] or [document]:
            scenario = validate(changed)
            plans.append(Plan(choice, scenario, resolve(scenario, changed, self.folder)))
        return plans

    def _chosen(self, only: Sequence[str]) -> list[str]:
        names = self.choices()
        for name in only:
            if name not in names:
                message = unknown("a choice", name, names) if names else "the scenario has no choices"
                raise ScenarioError([Problem(message, file=f"--choice {name}")])
        return list(only) or names or [""]


def _set(document: Node, change: str) -> Node:
    """The document with one `path=value` applied."""
    file = f"--set {change}"
    path, equals, text = change.partition("=")
    if not equals or not path.strip():
        raise ScenarioError([Problem("expected path=value, like switch.buffer.alpha=4", file=file)])
    value = read_text(text, file, line=False)
    return assign(document, path.strip(), Node(value.value, Mark(file)))


def _in_choices(problem: Problem, where: list[str], chosen: list[str]) -> Problem:
    """Says which choices have the problem, unless all have."""
    if len(where) == len(chosen):
        return problem
    return replace(problem, message=f"{problem.message} (choice {', '.join(where)})")


def _seeded(document: Node, seed: int) -> Node:
    return assign(document, "seed", Node.of(seed, Mark(f"--seed {seed}")))


def describe(plans: Sequence[Plan]) -> dict[str, Any]:
    """What would run, for `incast validate`."""
    first = plans[0].resolved
    return {
        "name": plans[0].scenario.name,
        "hosts": len(first.cluster.hosts),
        "switches": len(first.cluster.switches),
        "links": len(first.cluster.links),
        "jobs": len(first.spec["jobs"]),
        "faults": len(plans[0].scenario.faults),
        "choices": [plan.choice for plan in plans if plan.choice],
    }


def seed_list(source: Source, seeds: int | None) -> list[int]:
    """So many seeds from the scenario's own on; none where nobody asked for several."""
    if seeds is None:
        return []
    if seeds < 1:
        raise ValueError(f"seeds: {seeds} is not allowed: at least 1")
    first = source.scenario().seed
    return list(range(first, first + seeds))
