"""A study's runs on a Ray cluster, one a processor. Brief ones (plans) are run here, before the others."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

from incast.live import tasks
from incast.live.cluster import Cluster
from incast.runs import Watch
from incast.runs_on_cluster import check_clocks
from incast.study.cells import CellRun
from incast.study.execute import Ended, forget_memory, note, run_brief, run_one, tell_nobody
from incast.study.work import Simulation


def run(runs: Sequence[CellRun], out: Path, _: Watch, cluster: Cluster) -> Generator[Ended]:
    """Runs all, and yields each as it has come back. Closing the iterator ends those that run.

    How far a run has come is not told.
    """
    check_clocks(each.work.variant for each in runs if isinstance(each.work, Simulation))
    yield from run_brief(runs, out)
    numbers = [number for number, each in enumerate(runs) if not each.work.brief]
    there = [runs[number] for number in numbers]
    for came in tasks.run(_run, there, [out / each.place for each in there], cluster):
        run, number = there[came.number], numbers[came.number]
        ended = came.value or Ended(0, None, came.error)
        yield replace(note(run, out / run.place, ended), number=number)


def _run(run: CellRun, place: Path) -> Ended:
    forget_memory()
    return run_one(run, place, tell_nobody)
