"""The package's functions for scripts and notebooks."""

from __future__ import annotations

import shutil
import weakref
from pathlib import Path
from tempfile import mkdtemp

from incast.result import Result
from incast.run import failure, run_all
from incast.scenario.model import Scenario
from incast.source import Plan, Source


def run(
    scenario: Scenario | str | Path,
    out: str | Path | None = None,
    *,
    seeds: int | None = None,
    force: bool = False,
    jobs: int | None = None,
) -> Result:
    """Runs a scenario, all its choices side by side, and returns what was measured.

    `scenario` is a `Scenario` or the path of a YAML file. `out` is the result folder; without it, the result
    is kept only as long as the returned object. `seeds` runs it with so many seeds, from the scenario's on.
    `force` overwrites a result. `jobs` is the number of runs at a time (all cores). Raises `ScenarioError`
    when the scenario can't run, `OutputExistsError`, and `RunError` when a run failed on the way.
    """
    source = scenario.source() if isinstance(scenario, Scenario) else Source.from_file(Path(scenario))
    plans = source.plans(seeds=seed_list(source, seeds))
    if out is not None:
        return _run(source, plans, Path(out), force, jobs)
    place = Path(mkdtemp(prefix="incast-"))
    try:
        result = _run(source, plans, place, force, jobs)
    except BaseException:
        _remove(place)
        raise
    weakref.finalize(result, _remove, place)
    return result


def _run(source: Source, plans: list[Plan], out: Path, force: bool, jobs: int | None) -> Result:
    failed = failure(run_all(source, plans, out, force=force, jobs=jobs))
    if failed:
        raise failed
    return Result(out)


def _remove(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)


def seed_list(source: Source, seeds: int | None) -> list[int]:
    """So many seeds from the scenario's own on; none where nobody asked for several."""
    if seeds is None:
        return []
    first = source.scenario().seed
    return list(range(first, first + seeds))
