"""How one run is done, wherever that is: in this process, in one of several, on a cluster."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from incast import _core
from incast.errors import IncastError
from incast.runs import Watch
from incast.study import noted
from incast.study.cells import CellRun
from incast.study.noted import Cost


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    number: int
    cost: Cost | None
    """Nothing of one that failed."""
    error: str = ""
    """Why it failed; empty when it didn't."""


def run_brief(runs: Sequence[CellRun], out: Path) -> Generator[Ended]:
    """Runs those here that are over at once."""
    for number, each in enumerate(runs):
        if each.work.brief:
            place = out / each.place
            yield replace(note(each, place, run_one(each, place, tell_nobody)), number=number)


def tell_nobody(_: int, __: Mapping[str, Any]) -> None:
    """For runs whose progress nobody sees."""


def run_one(run: CellRun, place: Path, tell: Watch) -> Ended:
    """Runs in this process; under the number 0."""
    before = _cpu_s()
    try:
        error, wall_s = run.work.run(place, tell)
    except (IncastError, OSError) as failed:
        return Ended(0, None, str(failed))
    cost = Cost(wall_s, round(_cpu_s() - before, 3), _memory_max_bytes())
    return Ended(0, None, error) if error else Ended(0, cost)


def note(run: CellRun, place: Path, ended: Ended) -> Ended:
    """How it ended, noted in its folder, which is complete, if it did not fail."""
    try:
        if ended.cost:
            noted.write(run, place, ended.cost)
    except OSError as failed:
        return replace(ended, cost=None, error=str(failed))
    return ended


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def forget_memory() -> None:
    """What earlier runs had is given back, and their greatest memory forgotten: proc_pid_clear_refs(5)."""
    gc.collect()
    _core.give_back()
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _memory_max_bytes() -> int:
    if sys.platform == "linux":
        [peak] = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
        return int(peak.split()[1]) * 1024
    # macOS counts in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
