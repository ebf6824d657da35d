"""Runs variants: side by side as far as there are cores, and writes down what each found.

A run is a call into the core, which holds no Python lock while it works: threads run in parallel. Ctrl-C (or
any exception here) stops all runs; what they have measured stays, marked as interrupted.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from incast import _core, folder
from incast._version import __version__
from incast.emu import congestion, linux
from incast.errors import ResultError, RunError, why
from incast.lab.findings import Findings
from incast.lab.resolve import Written
from incast.progress import Share
from incast.stop import HEAR_S, Stop
from incast.summary import figures
from incast.variants import Variant
from incast.written import WrittenScenario

Operator: TypeAlias = "Callable[[int, list[tuple[str, int, int]]], list[str] | None]"
"""Asks emulated hosts for more than the scenario does ([`incast.emu.operator`])."""
Watch: TypeAlias = "Callable[[int, Mapping[str, Any]], None]"
"""Is told a run's number and how far it has come; `fraction` is the part that is done, if known."""


@dataclass(frozen=True)
class Done:
    """How a run ended."""

    folder: Path
    summary: dict[str, Any]
    error: str = ""
    """Why it failed; empty when it didn't."""


def run_all(
    written: WrittenScenario,
    variants: Sequence[Variant],
    out: Path,
    *,
    force: bool = False,
    jobs: int | None = None,
    threads: int | None = None,
    watch: Watch | None = None,
    ended: Callable[[int, Done], None] | None = None,
    live: bool = False,
) -> list[Done]:
    """Runs the variants into `out`: a single one into the folder itself, several into sub-folders.

    Each has so many `threads` at most: its share of the cores, if nothing is said. `watch` and `ended` are
    called in the runs' threads, with a variant's number. With `live`, runs are on sockets of this machine, a
    process a host. Runs that take this machine's time come one after the other.
    """
    if live:
        _check_live(written, variants)
    places = made_places(variants, out, force)
    run = _LiveRun if live else _Run
    timed = live or any(variant.scenario.clock for variant in variants)
    cores = os.cpu_count() or 1
    at_a_time = 1 if timed else jobs or cores
    threads = threads or max(1, cores // min(at_a_time, len(variants)))
    with Stop() as stop, ThreadPoolExecutor(max_workers=at_a_time) as pool:
        try:
            running = [
                pool.submit(
                    _go, run(written, variant, place, force, stop.event, number, watch, threads), ended
                )
                for number, (variant, place) in enumerate(zip(variants, places, strict=True))
            ]
            while wait(running, HEAR_S).not_done:
                pass
        finally:
            stop.event.set()  # otherwise the pool would wait for runs that nobody stops
    done = [each.result() for each in running]
    if len(variants) > 1:
        write_overview(variants, done, out)
    return done


def _go(run: _Run, ended: Callable[[int, Done], None] | None) -> Done:
    done = run.go()
    if ended:
        ended(run.number, done)
    return done


def run_here(
    written: WrittenScenario,
    variant: Variant,
    out: Path,
    *,
    force: bool = False,
    watch: Watch | None = None,
    operator: Operator | None = None,
) -> Done:
    """Runs a variant in this thread alone; with an operator at its emulated hosts, until that ends it.

    For threads that hear of no requests to end.
    """
    folder.make_free(out, force)
    return _Run(written, variant, out, force, threading.Event(), 0, watch, 1, operator).go()


def _check_live(written: WrittenScenario, variants: Sequence[Variant]) -> None:
    """Refuses what only the simulator has."""
    for variant in variants:
        findings = Findings(written.variant(variant.choice))
        asked = Written(variant.resolved.spec, variant.scenario, variant.resolved.cluster, findings)
        asked.ask(partial(_core.live_members, variant.resolved.core))


def made_places(variants: Sequence[Variant], out: Path, force: bool) -> list[Path]:
    """The folder of each; those that will hold several say what they are before a run may be cut short."""
    folder.make_free(out, force)
    places = places_of(variants, out)
    try:
        for each in sorted({out, *(place.parent for place in places)}) if len(variants) > 1 else []:
            folder.prepare(each)
    except OSError as failed:
        raise RunError(f"{failed.filename or out}: {why(failed)}") from None
    return places


def places_of(variants: Sequence[Variant], out: Path) -> list[Path]:
    """The folder of each."""
    if len(variants) == 1:
        return [out]
    seeds = {variant.scenario.seed for variant in variants}
    places = []
    for variant in variants:
        place = out / variant.choice if variant.choice else out
        several = sum(each.choice == variant.choice for each in variants) > 1
        places.append(place / f"seed-{variant.scenario.seed}" if several and len(seeds) > 1 else place)
    return places


class _Run:
    """One run, in a thread of its own."""

    def __init__(
        self,
        written: WrittenScenario,
        variant: Variant,
        place: Path,
        force: bool,
        stop: threading.Event,
        number: int,
        watch: Watch | None,
        threads: int,
        operator: Operator | None = None,
    ) -> None:
        self.written = written
        self.variant = variant
        self.place = place
        self.force = force
        self.stop = stop
        self.number = number
        self.watch = watch
        self.threads = threads
        self.operator = operator
        self.share = Share(variant.resolved.spec)

    def go(self) -> Done:
        """Runs; whatever unforeseen goes wrong stops the other runs too."""
        try:
            return self._go()
        except BaseException:
            self.stop.set()
            raise

    def _go(self) -> Done:
        began = time.monotonic()
        core: dict[str, Any] = {}
        error = ""
        try:
            core = self._core()
        except (_core.RunError, RunError) as failed:
            error = str(failed)
        core["wall_s"] = round(time.monotonic() - began, 3)
        return self._write(core, error)

    def _core(self) -> dict[str, Any]:
        """What the core says of the run."""
        resolved = self.variant.resolved
        with congestion.registered(resolved.here) as names:
            made_of = linux(names, self.written.folder)
            place, going_on = str(self.place), self._progress
            ran = _core.run(resolved.core, place, self.force, going_on, self.threads, made_of, self.operator)
        return dict(json.loads(ran))

    def _progress(self, progress: Mapping[str, Any]) -> bool:
        if self.watch:
            self.watch(self.number, {**progress, "fraction": self.share.of(progress)})
        return not self.stop.is_set()

    def _write(self, core: dict[str, Any], error: str) -> Done:
        """Adds to the tables what the package knows; of a run that failed, what can be had."""
        summary = self._summary(core)
        try:
            found = figures(self.place, core.get("end", ""), core.get("sim_time_ps", 0))
            summary["thresholds"] = [asdict(each.check(found)) for each in self.variant.resolved.thresholds]
            summary |= found
        except ResultError as failed:
            error = error or why(failed)
        if error:
            summary["error"] = error
        try:
            if not (self.place / folder.MARKER).is_file():
                folder.prepare(self.place)  # It failed before the core has made the folder.
            folder.write_text(self.place / folder.GRAPH, self.variant.resolved.cluster.graph + "\n")
            folder.write_text(self.place / folder.WRITTEN, self.written.text)
            folder.write_json(self.place / folder.SUMMARY, summary)
        except OSError as failed:
            error = error or f"{failed.filename or self.place}: {why(failed)}"
        return Done(self.place, summary, error)

    def _summary(self, core: dict[str, Any]) -> dict[str, Any]:
        scenario = self.variant.scenario
        return {
            "version": __version__,
            "name": scenario.name,
            "description": scenario.description,
            "choice": self.variant.choice or None,
            "seed": scenario.seed,
            "set": list(self.written.changes),
            **core,
        }


class _LiveRun(_Run):
    """One run on sockets: a process a host, each as slow as the scenario's hosts are."""

    def _core(self) -> dict[str, Any]:
        from incast.live import run_jobs

        resolved = self.variant.resolved
        outcome = run_jobs(
            resolved.spec,
            resolved.core,
            self.place,
            force=self.force,
            settings={"paced": True},
            watch=self._live_progress,
            stop=self.stop,
        )
        end = max((report["time_ps"] for report in outcome.reports), default=0)
        return {"end": "finished" if outcome.finished else "interrupted", "sim_time_ps": end, "live": True}

    def _live_progress(self, progress: Mapping[int, Mapping[str, Any]]) -> None:
        time_ps = max((each["time_ps"] for each in progress.values()), default=0)
        events = sum(each["counters"]["events"] for each in progress.values())
        if self.watch:
            self.watch(self.number, {"sim_time_ps": time_ps, "events": events, "fraction": None})


def write_overview(variants: Sequence[Variant], done: Sequence[Done], out: Path) -> None:
    """The summaries of folders of runs: where each choice is. Figures are in the runs' own summaries."""
    runs: dict[str, list[Path]] = {}
    for variant, each in zip(variants, done, strict=True):
        runs.setdefault(variant.choice, []).append(each.folder)
    name = variants[0].scenario.name
    try:
        _overview(out, name, runs)
        for choice, places in runs.items():
            if choice and len(places) > 1:
                _overview(out / choice, name, {choice: places})
    except OSError as failed:
        raise RunError(f"{failed.filename or out}: {why(failed)}") from None


def _overview(place: Path, name: str, runs: Mapping[str, Sequence[Path]]) -> None:
    """A choice's folder is its first run's."""
    folder.prepare(place)
    choices = []
    for choice, places in runs.items():
        where = [str(each.relative_to(place)) for each in places]
        choices.append({"name": choice, "folder": where[0], "runs": where})
    folder.write_json(place / folder.SUMMARY, {"version": __version__, "name": name, "choices": choices})


def failure(done: Sequence[Done]) -> RunError | None:
    """The runs that failed, as one error."""
    failed = [f"{each.folder}: {each.error}" for each in done if each.error]
    return RunError("\n".join(failed)) if failed else None
