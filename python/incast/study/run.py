"""Runs a study: what is missing or out of date, seed by seed, and then the tables of all.

A run whose end is noted next to it and that would be the same again is not run again; so a study that was
stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from incast import folder, stop
from incast.bounded import read_json
from incast.errors import OutputExistsError, RunError
from incast.runs import Watch
from incast.study import noted
from incast.study.axes import Cell
from incast.study.cells import CellRun, cell_runs
from incast.study.execute import Ended
from incast.study.noted import Cost
from incast.study.processes import Processes
from incast.study.study import Study
from incast.study.work import is_planned

if TYPE_CHECKING:
    from incast.live.cluster import Cluster

RUNS = "runs"

Run: TypeAlias = "Callable[[Sequence[CellRun], Path, Watch], Generator[Ended]]"
"""Runs all into folders of this one, and yields each as it ends."""


class Watcher:
    """Is told how runs go; this one shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The runs have ended, or were stopped."""

    def begin(self, missing: Sequence[CellRun], total: int) -> None:
        """So many of the study's runs are missing."""

    def progress(self, number: int, progress: Mapping[str, Any]) -> None:
        """How far a run is; `fraction` is the part that is done, if known."""

    def ended(self, number: int) -> None:
        """A run has ended."""


@dataclass(frozen=True)
class Done:
    """A run that has ended."""

    run: CellRun
    folder: Path
    cost: Cost


def seeds_of(study: Study, seeds: int | None) -> list[int]:
    """The seeds of each cell."""
    return list(range(1, (seeds or study.model.seeds) + 1))


def run_study(
    study: Study,
    out: Path,
    *,
    cells: Sequence[Cell],
    seeds: Sequence[int],
    jobs: int,
    cluster: Cluster | None = None,
    force: bool = False,
    but: Collection[tuple[Cell, int]] = (),
    watcher: Watcher | None = None,
) -> list[Done]:
    """Runs what is missing of these cells and seeds, `but` some. A run that fails doesn't stop the others.

    `jobs` at a time on this machine, or one for each processor of a cluster.
    """
    with Processes(jobs) as processes:
        if not (cluster or is_planned(study.base) or (out / RUNS).exists()):
            processes.start(len(cells) * len(seeds))
        runs = [each for each in cell_runs(study, cells, seeds) if (each.cell, each.seed) not in but]
        stop.check()
        claim(out, study)
        done = {} if force else {each.run.place: each for each in found(out, runs)}
        missing = [each for each in runs if each.place not in done]
        run = _there(cluster) if cluster else processes.run
        ran = run_missing(missing, out, run, total=len(runs), watcher=watcher)
    done |= {each.run.place: each for each in ran}
    return [done[each.place] for each in runs]


def _there(cluster: Cluster) -> Run:
    from incast.study import remote

    return partial(remote.run, cluster=cluster)


def run_missing(
    missing: Sequence[CellRun],
    out: Path,
    run: Run,
    *,
    total: int,
    watcher: Watcher | None = None,
) -> list[Done]:
    """Runs these, the missing ones of `total`."""
    costs: dict[int, Cost] = {}
    failed = []
    for each in missing:
        noted.forget(out / RUNS / each.place)
    with watcher or Watcher() as watched:
        watched.begin(missing, total)
        with closing(run(missing, out / RUNS, watched.progress)) as ending:
            for end in ending:
                if end.cost:
                    costs[end.number] = end.cost
                else:
                    failed.append(f"{missing[end.number].place}: {end.error}")
                watched.ended(end.number)
    if failed:
        raise RunError("\n".join(failed))
    return [Done(each, out / RUNS / each.place, costs[number]) for number, each in enumerate(missing)]


def found(out: Path, runs: Sequence[CellRun]) -> list[Done]:
    """Those of the runs that have ended, in order."""
    places = [(each, out / RUNS / each.place) for each in runs]
    return [Done(each, place, cost) for each, place in places if (cost := noted.read(each, place))]


def check_place(out: Path, study: Study) -> None:
    """Refuses a folder that holds anything but runs of the study."""
    folder.check_format(out)
    marker = out / folder.STUDY_MARKER
    if out.exists() and not marker.is_file() and (not out.is_dir() or not folder.is_empty(out)):
        raise folder.taken(out, folder.STUDY_MARKER)
    with suppress(OSError, ValueError):
        said = read_json(marker, folder.MARKER_BYTES_MAX)
        if isinstance(said, dict) and said.get("study", study.name) != study.name:
            raise OutputExistsError(out, other=f"runs of the study {said['study']}")


def claim(out: Path, study: Study) -> None:
    """Makes the folder the study's; refuses one that holds anything else."""
    check_place(out, study)
    out.mkdir(parents=True, exist_ok=True)
    folder.mark(out, folder.STUDY_MARKER, study=study.name)
