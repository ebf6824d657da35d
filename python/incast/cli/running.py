"""What `incast run` does: a scenario, simulated or on sockets, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.markup import escape

from incast import _core, report, text
from incast.answer import answer
from incast.choose import Ranking, rank
from incast.cli import show, show_choices, show_run
from incast.cli.common import on_cluster, place_of
from incast.cli.exits import Exit
from incast.cli.progress import Bars
from incast.extras import MissingLibraryError
from incast.incomplete import STUCK
from incast.lateness import is_too_late
from incast.result import Result
from incast.runs import Done, failure, run_all
from incast.samples import by_choice
from incast.stop import Interrupted
from incast.variants import Variant, make_variants, seed_list
from incast.written import WrittenScenario


@dataclass
class Runs:
    """What was asked for. Each call of `go` reads the scenario again."""

    scenario: Path
    changes: list[str]
    out: Path | None
    force: bool
    seeds: int | None
    choice: list[str]
    jobs: int | None
    threads: int | None
    cluster: str | None
    live: bool
    report: bool
    every: bool
    quiet: bool
    verbose: bool
    as_json: bool
    _ours: dict[str, Path] = field(default_factory=dict)
    """Folders of earlier calls, by the scenario's name: the next call overwrites them."""

    def go(self) -> Exit:
        """Runs all variants and shows what came of it; the exit code."""
        _core.return_blocks()
        place, done = self._all()
        # Millions of flows may just have been forgotten, and Polars has a heap of its own.
        _core.give_back()
        if failed := failure(done):
            raise failed
        page = _report(place) if self.report else None
        result = Result.open(place)
        _show_result(result, page, self.every, self.as_json, self.quiet)
        if result.interrupted:
            show.err.print("[yellow]Interrupted: the result holds what was measured until then.[/]")
            return Exit.INTERRUPTED
        return _code(result)

    def _all(self) -> tuple[Path, list[Done]]:
        """Runs all variants: where their results are, and how they ended."""
        written = WrittenScenario.from_file(self.scenario, self.changes)
        variants = make_variants(written, self.choice, seed_list(written, self.seeds))
        name = variants[0].scenario.name
        place = self._ours.get(name) or place_of(self.out, name, self.force)
        done = self._run(written, variants, place, self.force or name in self._ours)
        self._ours[name] = place
        return place, done

    def _run(
        self, written: WrittenScenario, variants: Sequence[Variant], place: Path, force: bool
    ) -> list[Done]:
        names = [
            f"{each.choice or each.scenario.name}{f' seed {each.scenario.seed}' if self.seeds else ''}"
            for each in variants
        ]
        with on_cluster(self.cluster) as cluster, ExitStack() as until:
            bars = (
                None if self.quiet else until.enter_context(Bars(variants[0].scenario.name, show.err, names))
            )

            def ended(number: int, done: Done) -> None:
                if bars:
                    bars.ended(number)
                if self.verbose:
                    _say_ended(names[number], done)

            if cluster:
                from incast.runs_on_cluster import run_on_cluster

                try:
                    return run_on_cluster(written, variants, place, cluster, force=force, ended=ended)
                except KeyboardInterrupt:
                    raise Interrupted(f"the runs that have come back are kept in {place}.") from None
            watch = bars.watch if bars else None
            return run_all(
                written,
                variants,
                place,
                force=force,
                jobs=self.jobs,
                threads=self.threads,
                live=self.live,
                watch=watch,
                ended=ended,
            )


def _say_ended(name: str, done: Done) -> None:
    """One line on a run, as soon as it is over."""
    summary = done.summary
    parts = [
        "failed" if done.error else summary["end"],
        # A run that was lost with its node has said nothing.
        *([f"{text.time(summary['wall_s'] * 1e12)} of this machine's time"] if "wall_s" in summary else []),
        *([f"{text.time(summary['sim_time_ps'])} simulated"] if "sim_time_ps" in summary else []),
        *([f"{text.count(summary['events'])} events"] if "events" in summary else []),
    ]
    show.err.print(escape(f"{name}: {', '.join(parts)}"), soft_wrap=True, highlight=False)


def _report(place: Path) -> Path | None:
    """Writes the report. Without what draws it the result is good all the same: it can be written later."""
    try:
        return report.write(place)
    except MissingLibraryError as error:
        show.err.print(
            f"No report: {escape(str(error))}, then incast report {escape(str(place))}", soft_wrap=True
        )
        return None


def _code(result: Result) -> Exit:
    """How the runs ended, the worst first."""
    ends = {run.summary.get("end") for run in result.runs}
    if STUCK in ends:
        return Exit.FAILED
    if "deadlock" in ends:
        return Exit.DEADLOCK
    if result.incomplete:
        return Exit.INCOMPLETE
    if any(is_too_late(run.summary) for run in result.runs):
        return Exit.UNCOVERED
    return Exit.OK if result.passed else Exit.THRESHOLD


def _show_result(result: Result, written: Path | None, every: bool, as_json: bool, quiet: bool) -> None:
    choices = by_choice(result.runs)
    if as_json:
        content = {
            "answer": answer(choices),
            "incomplete": result.incomplete,
            "folder": str(result.path),
            "report": str(written) if written else None,
            **(_decision(rank(choices)) if len(choices) > 1 else {}),
            "runs": [{"folder": str(run.path), **run.summary} for run in result.runs],
        }
        show.print_json(content)
        return
    show_run.incomplete(result.runs)
    show_run.late(result.runs)
    if not quiet:
        _show_tables(result, choices, every)
    show_run.deadlocks(result.runs)
    show_run.unfinished(result.runs)
    if not (quiet and result.passed):
        show_run.thresholds(result.runs)
    if quiet:
        return
    show_run.computing(result.runs)
    show_run.skipped(result.runs)
    show_run.on_time(result.runs)
    show_run.fingerprint(result)
    show.place("Result", result.path)
    if written:
        show.place("Report", written)


def _show_tables(result: Result, choices: Mapping[str, Sequence[Result]], every: bool) -> None:
    show_run.answer(choices)
    if len(result.runs) > 1:
        for table in show_choices.tables(choices, every):
            show.out.print(table)
        return
    for table in show_run.jobs(result, every):
        show.out.print(table)
    show.out.print(show_run.network(result, every), highlight=False)


def _decision(ranking: Ranking) -> dict[str, Any]:
    """What decides between the choices, and how each differs from the best."""
    return {
        "decides": ".".join(ranking.way),
        "best": ranking.best,
        "choices": {
            name: {
                "mean": ranking.figures.get(name),
                "against_best": found.json() if (found := ranking.contrasts.get(name)) else None,
            }
            for name in (*ranking.figures, *ranking.out)
        },
    }
