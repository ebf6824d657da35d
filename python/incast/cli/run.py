"""`incast run`: a scenario, simulated or on sockets, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from incast import report
from incast.answer import answer
from incast.choose import Ranking, rank
from incast.cli import show, show_choices, show_run
from incast.cli.common import Changes, Json, ScenarioFile, told
from incast.cli.exits import Exit
from incast.cli.progress import Bars
from incast.extras import MissingLibraryError
from incast.incomplete import STUCK
from incast.lateness import is_too_late
from incast.result import Result
from incast.runs import failure, run_all
from incast.samples import by_choice
from incast.variants import make_variants, seed_list
from incast.written import WrittenScenario


def run(
    scenario: ScenarioFile,
    changes: Changes = [],  # noqa: B006 - typer's way
    out: Annotated[Path | None, typer.Option(help="Result folder; default: results/<name>.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a result.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Use this seed instead of the scenario's.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=2, max=10_000, help="Run this many seeds, for intervals.")
    ] = None,
    choice: Annotated[list[str], typer.Option(help="Run only this variant; may be repeated.")] = [],  # noqa: B006
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; default: all cores.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Run its jobs on sockets of this machine, one process per host.")
    ] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every figure, not only a few.")] = False,
    as_json: Json = False,
) -> None:
    """Simulate a scenario, or run it live: all its variants side by side."""
    with told(as_json):
        said = [*changes, *([f"seed={seed}"] if seed is not None else [])]
        written = WrittenScenario.from_file(scenario, said)
        variants = make_variants(written, choice, seed_list(written, seeds))
        place = out or Path("results") / variants[0].scenario.name
        names = [
            f"{variant.choice or variant.scenario.name}{f' seed {variant.scenario.seed}' if seeds else ''}"
            for variant in variants
        ]
        with Bars(names, show.err) as bars:
            done = run_all(written, variants, place, force=force, jobs=jobs, watch=bars.watch, live=live)
        failed = failure(done)
        page = None if no_report or failed else _report(place)
        result = None if failed else Result.open(place)
        if result:
            _show_result(result, page, every, as_json)
        if failed:
            raise failed
        assert result
        if result.interrupted:
            show.err.print("[yellow]Interrupted: the result holds what was measured until then.[/]")
            raise typer.Exit(Exit.INTERRUPTED)
        if code := _code(result):
            raise typer.Exit(code)


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


def _show_result(result: Result, written: Path | None, every: bool, as_json: bool) -> None:
    choices = by_choice(result)
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
    show_run.answer(choices)
    if len(result.runs) > 1:
        for table in show_choices.tables(choices, every):
            show.out.print(table)
    else:
        show.out.print(show_run.jobs(result, every))
        show.out.print(show_run.network(result, every), highlight=False)
    show_run.deadlocks(result.runs)
    show_run.unfinished(result.runs)
    show_run.thresholds(result.runs)
    show_run.computing(result.runs)
    show_run.on_time(result.runs)
    show_run.fingerprint(result)
    show.place("Result", result.path)
    if written:
        show.place("Report", written)


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
