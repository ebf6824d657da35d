"""The commands on studies: run one, check it, calibrate it, and reproduce all that was published."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from incast import text
from incast.cli import show, show_study
from incast.cli.common import ForceFile, Json, OnCluster, on_cluster, told
from incast.cli.study_progress import StudyBars
from incast.errors import ResultError
from incast.extras import need
from incast.folder import free, write_text
from incast.stop import Interrupted
from incast.study import calibrate as calibration
from incast.study import judged, kept, load, page, tables, words
from incast.study.again import Again, run_again
from incast.study.axes import Cell
from incast.study.cells import cell_runs
from incast.study.outcome import Outcome, collect, write
from incast.study.run import Done, Watcher, check_place, claim, run_study, seeds_of
from incast.study.study import FILE, Study

StudyFolder = Annotated[Path, typer.Argument(metavar="STUDY", help="The study's folder, like studies/NAME.")]
Cells = Annotated[
    list[str],
    typer.Option(
        "--cells",
        metavar="VALUES",
        help="Only cells with these values, like deep|shallow/10GB; may be repeated.",
    ),
]
Seeds = Annotated[int | None, typer.Option(min=1, max=10_000, help="Seeds per cell; default: the study's.")]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; default: all cores.")]
Out = Annotated[Path | None, typer.Option(help="Result folder; default: results/<name>.")]
Studies = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the studies are.")]
Results = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the results of studies are.")]


def run(
    study: StudyFolder,
    cells: Cells = [],  # noqa: B006 - typer's way
    seeds: Seeds = None,
    jobs: Jobs = None,
    cluster: OnCluster = None,
    out: Out = None,
    force: Annotated[bool, typer.Option("--force", help="Repeat finished runs.")] = False,
    but_kept: Annotated[
        bool, typer.Option("--but-kept", help="Leave out the runs that are kept with the study, in runs.csv.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a study's cells with several seeds, and show our figures next to the published ones.

    Finished runs that have not changed are not repeated: after Ctrl-C, the same command continues.
    """
    if cluster and jobs:
        raise typer.BadParameter("--cluster goes without --jobs: a cluster has a run per processor")
    with told(as_json):
        need("study", "jinja2")
        found = load(study)
        chosen = found.select(cells, "--cells")
        place = out or Path("results") / found.name
        but = {(each.cell, each.seed) for each in kept.read(found)} if but_kept else ()
        outcome = _run(found, place, chosen, seeds_of(found, seeds), jobs, force, but, cluster)
        rows = [row for row in outcome.rows if row.cell in chosen]
        written = page.write(outcome, place)
    if as_json:
        show.print_json(show_study.as_json(outcome, rows, place))
        return
    for table in show_study.cells(found, rows):
        show.out.print(table)
    show.out.print(show_study.notes(rows), style="table.caption", highlight=False)
    _print_end(outcome)
    show.place("Result", place)
    show.place("Report", written)


def _print_end(outcome: Outcome) -> None:
    """How many claims came out how, and what of that was not run here."""
    if outcome.findings:
        show.out.print(show_study.tally(outcome.findings), highlight=False)
    _print_kept(outcome)


def _print_kept(outcome: Outcome) -> None:
    if outcome.kept:
        show.out.print(words.kept(len(outcome.ran), outcome.kept), highlight=False)


def _print_again(again: Again) -> None:
    """Whether this version finds what is kept."""
    if said := words.again(again):
        show.out.print(f"[yellow]{escape(said)}[/]" if again.other else said, highlight=False)


def _run(
    study: Study,
    out: Path,
    cells: Sequence[Cell],
    seeds: Sequence[int],
    jobs: int | None,
    force: bool = False,
    but: Collection[tuple[Cell, int]] = (),
    cluster: str | None = None,
) -> Outcome:
    """Runs what is missing of these cells, and writes the tables of all that is there, whatever happens."""
    done: Sequence[Done] = ()
    try:
        if cells:
            with on_cluster(cluster) as there:
                done = run_study(
                    study,
                    out,
                    cells=cells,
                    seeds=seeds,
                    jobs=jobs or os.cpu_count() or 1,
                    cluster=there,
                    force=force,
                    but=but,
                    watcher=StudyBars(study.name, show.err),
                )
    except KeyboardInterrupt:
        raise Interrupted("what has ended is kept, the same command goes on.") from None
    finally:
        outcome = collect(study, out, done)
        write(outcome, out)
    return outcome


def report(
    study: StudyFolder,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The study's result folder; default: results/<name>."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write its bars and pictures as SVG files too.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one row per cell as CSV too, to keep with the study."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep each run's figures with the study, in its runs.csv.")
    ] = False,
    force: ForceFile = False,
    as_json: Json = False,
) -> None:
    """Rewrite the study's page from finished runs: report.html in its result folder."""
    with told(as_json):
        found = load(study)
        place = results or Path("results") / found.name
        check_place(place, found)
        outcome = collect(found, place)
        if not outcome.ran:
            wanted = shlex.join([str(study), "--out", str(place)])
            message = f"{place} holds no finished run of the study as it is now"
            raise ResultError(f"{message}: incast study run {wanted} runs it")
        if csv:
            free(csv, force)
        drawn = page.write_svg(outcome, place, svg, force) if svg else []
        claim(place, found)
        write(outcome, place)
        written = page.write(outcome, place)
        if csv:
            write_text(csv, tables.csv(found, outcome.rows))
        runs = kept.write(found, outcome.ran) if keep else None
    if as_json:
        show.print_json(
            {"ok": True, "report": str(written), "kept": outcome.kept, "svg": [str(each) for each in drawn]}
            | ({"csv": str(csv)} if csv else {})
            | ({"runs": str(runs)} if runs else {})
        )
        return
    _print_kept(outcome)
    show.place("Report", written)
    for each in drawn:
        show.place("Picture", each)
    if csv:
        show.place("Table", csv)
    if runs:
        show.place("Runs", runs)


def check(study: StudyFolder, as_json: Json = False) -> None:
    """Check a study, its cells, published figures and claims, without running it."""
    with told(as_json):
        found = load(study)
        cell_runs(found, found.cells, [1])
    counted = {
        "cells": len(found.cells),
        "published": len(found.published),
        "fitted": len(found.fitted_cells),
        "claims": len(found.claims),
        "seeds": found.model.seeds,
    }
    if as_json:
        show.print_json(
            {"ok": True, "name": found.name, **counted, "names": [cell.name for cell in found.cells]}
        )
        return
    parts = [
        text.plural(counted["cells"], "cell"),
        f"{text.count(counted['published'])} with a published figure",
        *([f"{text.count(counted['fitted'])} of them to calibrate on"] if counted["fitted"] else []),
        text.plural(counted["claims"], "claim"),
        text.plural(counted["seeds"], "seed"),
    ]
    show.out.print(f"{study / FILE} is fine: {', '.join(parts)}", soft_wrap=True, highlight=False)


def calibrate(study: StudyFolder, jobs: Jobs = None, out: Out = None, as_json: Json = False) -> None:
    """Fit a study's parameters to its calibration cells, and freeze them in its folder."""
    with told(as_json):
        need("study", "scipy.optimize")
        found = load(study, calibrated=False)
        place = out or Path("results") / found.name
        best = calibration.calibrate(found, place, jobs or os.cpu_count() or 1, _watch_trials)
    if as_json:
        parameters = [
            {"field": each.parameter.field, "cells": each.parameter.cells, "value": value}
            for each, value in zip(found.parameters, best.values, strict=True)
        ]
        rows = [asdict(each) for each in best.residuals]
        show.print_json({"parameters": parameters, "rms": best.rms, "residuals": rows})
        return
    show.out.print(show_study.parameters(found, best.values))
    show.out.print(show_study.residuals(found, best))
    assert found.model.calibration
    frozen = found.folder / found.model.calibration.file
    show.place("Calibrated", frozen)


def _watch_trials(number: int, best: calibration.Trial | None) -> Watcher:
    reached = f", best {text.percent(best.rms)} off" if best else ""
    return StudyBars(f"trial {number + 1}{reached}", show.err)


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A study; default: all.")] = None,
    run_missing: Annotated[bool, typer.Option("--run", help="Run what is missing.")] = False,
    seeds: Seeds = None,
    jobs: Jobs = None,
    studies: Studies = Path("studies"),
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Show every claim of the documents: its text, our figures, whether it holds.

    Of the runs that are kept with a study, a few short ones are run again: a warning says when this version
    finds other figures. Studies of measured programs are judged by their kept measurements: `--run` does not
    measure again.
    """
    listed: list[dict[str, Any]] = []
    with told(as_json):
        for each in show_study.listed(studies, name):
            if not (each / FILE).is_file():
                findings = judged.judge(each)
                if not as_json:
                    show.out.print(show_study.claims(each.name, findings))
                    show.out.print(show_study.tally(findings), highlight=False)
                listed.append({"study": each.name, "claims": [finding.json() for finding in findings]})
                continue
            found: Study = load(each)
            place = results / found.name
            wanted = found.cells if run_missing else []
            outcome = _run(found, place, wanted, seeds_of(found, seeds), jobs)
            again = run_again(outcome, jobs or os.cpu_count() or 1, StudyBars(found.name, show.err))
            if not as_json:
                show.out.print(show_study.claims(found.name, outcome.findings, found))
                _print_end(outcome)
                _print_again(again)
            listed.append(
                {
                    "study": found.name,
                    "claims": [finding.json() for finding in outcome.findings],
                    "run_again": {
                        "runs": again.runs,
                        "other": [f"{each.cell.name}/seed-{each.seed}" for each in again.other],
                    },
                }
            )
    if as_json:
        show.print_json(listed)
