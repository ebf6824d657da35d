"""What is asked of walks: the application, its rule and numbers, checked; what papers use is the default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from pydantic import SkipValidation

from incast.errors import Problem, ScenarioError
from incast.hints import unknown

STEPS_MAX = 1 << 24
WALKS_MAX = 1 << 30
SEED_MAX = 2**64 - 1


@dataclass(frozen=True)
class App:
    """An application, and how it walks when nobody says otherwise."""

    walks: int
    steps: int | None = None
    stop: float | None = None
    takes: Literal["ends", "paths"] = "paths"
    looks_back: bool = False
    """p and q have a meaning."""
    lengths: tuple[str, ...] = ("restart", "length")
    """Ways to say how long walks are."""
    from_all: bool = True
    """Walks begin at every node when nobody says where."""


APPS: dict[str, App] = {
    "ppr": App(walks=1000, stop=0.15, takes="ends", lengths=("restart",)),
    "node2vec": App(walks=10, steps=79, looks_back=True, lengths=("length",)),
    "corpus": App(walks=80, steps=39, looks_back=True),
    "simrank": App(walks=100, steps=10, lengths=("length",)),
    "communities": App(walks=1000, stop=0.15, takes="ends", lengths=("restart",)),
    "recommend": App(walks=10_000, stop=0.15, from_all=False),
}


@dataclass(frozen=True)
class Request:
    """Walks to be walked."""

    app: str
    walks: int
    steps: int | None
    stop: float | None
    bias: tuple[float, float] | None
    seed: int
    top: int
    starts: Sequence[Any] = ()
    """Names of nodes; none: all."""

    @property
    def takes(self) -> Literal["ends", "paths"]:
        """What of walks the application needs."""
        return APPS[self.app].takes

    @property
    def mean_steps(self) -> float:
        """Steps of a walk on average, without dead ends."""
        if self.steps is not None:
            return float(self.steps)
        assert self.stop is not None
        return (1 - self.stop) / self.stop


_RANGES: dict[str, tuple[float, float, str]] = {
    "restart": (1e-6, 1, "a probability to stop before a step"),
    "length": (1, STEPS_MAX, "a number of steps"),
    "walks": (1, WALKS_MAX, "a number of walks"),
    "p": (1e-3, 1e3, "a return parameter"),
    "q": (1e-3, 1e3, "an in-out parameter"),
    "seed": (0, SEED_MAX, "a seed"),
    "top": (1, 1_000_000, "a number of nodes"),
}


def _ranges(said: Mapping[str, float]) -> Iterator[Problem]:
    """Numbers that are out of their range, or none."""
    for option, value in said.items():
        low, high, what = _RANGES[option]
        if not low <= value <= high:
            yield Problem(f"{value:g} is not {what}: {low:g} to {high:g} is allowed", _option(option))


def _meanings(app: str, known: App, said: Mapping[str, float], starts: bool) -> Iterator[Problem]:
    """Numbers that mean nothing to the application, and what it lacks."""
    if "restart" in said and "length" in said:
        yield Problem("a walk has either a fixed length or a probability to stop", "--length")
    for option in ("restart", "length"):
        if option in said and option not in known.lengths:
            yield Problem(f"{app} takes --{known.lengths[0]} instead", f"--{option}")
    for option in ("p", "q"):
        if option in said and not known.looks_back:
            yield Problem(f"{app} has walks of the first order: it takes no p and q", _option(option))
    if not starts and not known.from_all:
        yield Problem(f"{app} needs nodes to begin at", "--start")


def _option(name: str) -> str:
    return f"{'-' if len(name) == 1 else '--'}{name}"


class Numbers(TypedDict, total=False):
    """What may be said of walks; what is left out is as the application's paper has it."""

    starts: SkipValidation[Sequence[Any]]
    """Names of nodes where walks begin; none: all nodes."""
    walks: int | None
    """Walks from each start."""
    restart: float | None
    """The probability to stop before a step."""
    length: int | None
    """Steps of each walk."""
    p: float | None
    """node2vec's return parameter."""
    q: float | None
    """node2vec's in-out parameter."""
    top: int | None
    """Nodes in tables of the best, 10 by default."""
    seed: int | None
    """All randomness derives from it; 1 by default."""


def _names(starts: Any) -> tuple[Any, ...]:
    if isinstance(starts, str) or not isinstance(starts, Iterable):
        message = f"{starts!r} is no list of nodes: several names are expected, like [{starts!r}]"
        raise ScenarioError([Problem(message, "--start")])
    return tuple(starts)


def make(app: str, **said: Unpack[Numbers]) -> Request:
    """A request; raises `ScenarioError` with all that can't be."""
    if app not in APPS:
        raise ScenarioError([Problem(unknown("an application", app, APPS), "--app")])
    known = APPS[app]
    all_said: dict[str, Any] = {"seed": 1, "top": 10, "starts": ()}
    all_said |= {name: value for name, value in said.items() if value is not None}
    numbers = {name: all_said[name] for name in _RANGES if all_said.get(name) is not None}
    starts = _names(all_said["starts"])
    if problems := [*_ranges(numbers), *_meanings(app, known, numbers, bool(starts))]:
        raise ScenarioError(problems)
    sized = "restart" in numbers or "length" in numbers
    return Request(
        app=app,
        walks=numbers.get("walks", known.walks),
        steps=numbers.get("length") if sized else known.steps,
        stop=numbers.get("restart") if sized else known.stop,
        bias=(numbers.get("p", 1.0), numbers.get("q", 1.0)) if known.looks_back else None,
        seed=numbers["seed"],
        top=numbers["top"],
        starts=starts,
    )
