"""What commands share: how errors end them, and options that several have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incast import table_files
from incast.cli.exits import Exit
from incast.errors import IncastError, OutputError, Problem, RunError, ScenarioError
from incast.folder import numbered
from incast.quantity import parse_time

if TYPE_CHECKING:
    from incast.live.cluster import Cluster

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="The scenario, a YAML file.")]
Changes = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Change a field, like switch.buffer.alpha=4; may be repeated."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Result folder; default: results/<name>. A number is added if it holds a result."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a result.")]
ForceFile = Annotated[bool, typer.Option("--force", help="Overwrite a file.")]
OnCluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on a Ray cluster, one run per processor: ray://HOST:PORT, auto or local (extra: ray).",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, and print only what is wrong.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say of each run how it ended, and when.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def place_of(out: Path | None, name: str, force: bool) -> Path:
    """The result folder: `out`, or `name` among the results; with a number if it may not be overwritten."""
    place = out or Path("results") / name
    try:  # Before a run, whose tables would find no place.
        table_files.check_name(place)
    except OSError as error:
        raise OutputError(f"{place}: {error.strerror}") from None
    return place if force else numbered(place)


def on_cluster(address: str | None) -> AbstractContextManager[Cluster | None]:
    """The cluster that `--cluster` names, if runs go to one."""
    if address is None:
        return nullcontext()
    from incast.live.cluster import at

    return at(address)


def option(panel: str, help_: str, *flags: str, metavar: str | None = None) -> Any:
    """An option that the help lists under `panel`."""
    return typer.Option(*flags, metavar=metavar, help=help_, rich_help_panel=panel)


_BARE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def in_seconds(said: str, option: str, least: str, most: str) -> float:
    """The seconds that an option says as a time; a bare number, which they once were, is of seconds."""
    problem = f"{said}: {least} to {most} is allowed"
    try:
        found = parse_time(f"{said}s" if _BARE.fullmatch(said) else said)
    except ValueError as error:
        found, problem = 0, str(error)
    if not parse_time(least) <= found <= parse_time(most):
        raise ScenarioError([Problem(problem, file=option)])
    return found / 1e12


def _located(error: IncastError) -> IncastError:
    """The error, and where it comes from if paths lead nowhere: the shell's folder was removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        problems = error.problems if isinstance(error, ScenarioError) else [Problem(str(error))]
        gone = "the folder where incast was started is gone: change to another one (cd)"
        return ScenarioError([*problems, Problem(gone)])
    return error


@contextmanager
def told(as_json: bool) -> Iterator[None]:
    """Turns the package's errors, and requests to end that leave no result, into messages and exit codes."""
    try:
        yield
    except KeyboardInterrupt as error:
        from incast.cli import show

        show.interrupted(str(error), as_json)
        raise typer.Exit(Exit.INTERRUPTED) from None
    except IncastError as error:
        from incast.cli import show  # Commands that are not wrong need not wait for it.

        show.error(_located(error), as_json)
        raise typer.Exit(Exit.FAILED if isinstance(error, RunError) else Exit.USAGE) from None
    except BrokenPipeError:
        raise  # The reader of the output has seen enough.
    except OSError as error:  # A full disk, a folder without permission.
        from incast.cli import show

        said = (error.strerror or str(error)).lower()
        show.error(_located(RunError(f"{error.filename}: {said}" if error.filename else said)), as_json)
        raise typer.Exit(Exit.FAILED) from None
