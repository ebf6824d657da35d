"""`incast metrics` and `dashboard`: a run's series for Prometheus and Grafana."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from incast.cli import show
from incast.cli.common import ForceFile, Json, told
from incast.errors import Problem, ScenarioError
from incast.folder import METRICS, free


def write_metrics(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A result folder.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help=f"The text; default: {METRICS} in the result."),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            "--end",
            metavar="TIME",
            help="When the run ends for Prometheus, like 2026-11-26T09:00:00Z; default: when it was written.",
        ),
    ] = None,
    force: ForceFile = False,
    as_json: Json = False,
) -> None:
    """Write a run's series as OpenMetrics text, for Prometheus to take in as its past."""
    from incast.network import openmetrics  # It takes a while, and help needs none.
    from incast.result import Result

    with told(as_json):
        end_s = _unix_time(end) if end else None
        result = Result.open(run)
        if out:
            free(out, force)
        written = openmetrics.write(result, out or result.path / METRICS, end_s)
    show.written("metrics", written, as_json)


def _unix_time(said: str) -> float:
    """The seconds of a time with its zone; raises `ScenarioError` for anything else."""
    try:
        time = datetime.fromisoformat(said)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        allowed = "a time with its zone is allowed, like 2026-11-26T09:00:00Z"
        raise ScenarioError([Problem(f"{said!r}: {allowed}", file="--end")])
    return time.timestamp()


def print_dashboard() -> None:
    """Print a Grafana dashboard of the series that `incast metrics` writes."""
    from incast.network import openmetrics

    typer.echo(openmetrics.dashboard(), nl=False)
