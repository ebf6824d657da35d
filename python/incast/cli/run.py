"""`incast run`: what can be asked of it."""

from __future__ import annotations

from typing import Annotated

import typer

from incast.cli.again import again
from incast.cli.common import Changes, Force, Json, OnCluster, Out, Quiet, ScenarioFile, Verbose, told


def run(
    scenario: ScenarioFile,
    changes: Changes = [],  # noqa: B006 - typer's way
    out: Out = None,
    force: Force = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Use this seed instead of the scenario's.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=2, max=10_000, help="Run this many seeds, for intervals.")
    ] = None,
    choice: Annotated[list[str], typer.Option(help="Run only this variant; may be repeated.")] = [],  # noqa: B006
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; default: all cores.")
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads of a run at most; default: its share of the cores, if it gains."),
    ] = None,
    cluster: OnCluster = None,
    live: Annotated[
        bool, typer.Option("--live", help="Run its jobs on sockets of this machine, one process per host.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Run again when the file changes, until Ctrl-C.")
    ] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every figure, not only a few.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Simulate a scenario, or run it live: all its variants side by side."""
    if quiet and verbose:
        raise typer.BadParameter("--quiet and --verbose exclude each other")
    if cluster and (live or jobs or threads):
        message = "a cluster has a run per processor, and no sockets of this machine"
        raise typer.BadParameter(f"--cluster goes without --live, --jobs and --threads: {message}")
    from incast.cli.running import Runs  # It loads what runs need, which help does not.

    said = [*changes, *([f"seed={seed}"] if seed is not None else [])]
    runs = Runs(
        scenario=scenario,
        changes=said,
        out=out,
        force=force,
        seeds=seeds,
        choice=choice,
        jobs=jobs,
        threads=threads,
        cluster=cluster,
        live=live,
        report=not no_report,
        every=every,
        quiet=quiet,
        verbose=verbose,
        as_json=as_json,
    )
    if watch and scenario.is_file():
        again(scenario, runs.go, as_json)
    with told(as_json):
        code = runs.go()
    if code:
        raise typer.Exit(code)
