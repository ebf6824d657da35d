"""Runs variants on a Ray cluster, one a processor; what each has found comes back when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

from incast.errors import Problem, ScenarioError
from incast.live import tasks
from incast.live.cluster import Cluster
from incast.runs import Done, made_places, run_all, write_overview
from incast.variants import Variant
from incast.written import WrittenScenario

Asked: TypeAlias = "tuple[WrittenScenario, Variant]"


def run_on_cluster(
    written: WrittenScenario,
    variants: Sequence[Variant],
    out: Path,
    cluster: Cluster,
    *,
    force: bool = False,
    ended: Callable[[int, Done], None] | None = None,
) -> list[Done]:
    """Runs the variants into `out`, as `run_all` does. `ended` is called with a variant's number.

    Whatever stops it, the runs that have come back are a result.
    """
    check_clocks(variants)
    places = made_places(variants, out, force)
    done: dict[int, Done] = {}
    try:
        with closing(tasks.run(_run, [(written, each) for each in variants], places, cluster)) as coming:
            for came in coming:
                summary, error = came.value or ({}, came.error)
                each = done[came.number] = Done(places[came.number], summary, error)
                if ended:
                    ended(came.number, each)
    finally:
        if len(variants) > 1 and done:
            back = sorted(done)
            write_overview([variants[number] for number in back], [done[number] for number in back], out)
    return [done[number] for number in sorted(done)]


def check_clocks(variants: Iterable[Variant]) -> None:
    """Refuses runs whose results depend on what else their machine does."""
    if any(variant.scenario.clock for variant in variants):
        message = "a run on this machine's clock has no place on a cluster"
        raise ScenarioError([Problem(message, "--cluster")])


def _run(asked: Asked, place: Path) -> tuple[dict[str, Any], str]:
    written, variant = asked
    (done,) = run_all(written, [variant], place, jobs=1, threads=1)
    return done.summary, done.error
