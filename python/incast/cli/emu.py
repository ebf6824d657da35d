"""`incast emu`: commands on a scenario's emulated hosts. Time goes on only as they need."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from incast.cli import show
from incast.cli.common import Changes, Force, Out, ScenarioFile, place_of, told
from incast.cli.emu_terminal import Terminal
from incast.emu.desk import SocketDesk, end, order
from incast.emu.operator import Desk, Operator, with_operator
from incast.errors import RunError
from incast.runs import failure, run_here
from incast.variants import Variant, make_variants
from incast.written import WrittenScenario

Choice = Annotated[str, typer.Option(help="The variant, where the scenario has some.")]
At = Annotated[str, typer.Option(metavar="TIME", help="Simulated time at which the first command runs.")]
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The result folder that `emu up` has named.")]
HostArgument = Annotated[str, typer.Argument(metavar="HOST", help="The host, like host0.")]

_UP_S = 600
"""Hosts that are not up by then are given up."""
_LOOK_S = 0.05
_SAID_MAX = 1 << 16


def shell(
    scenario: ScenarioFile,
    host: HostArgument,
    changes: Changes = [],  # noqa: B006 - typer's way
    choice: Choice = "",
    at: At = "0s",
    out: Out = None,
    force: Force = False,
) -> None:
    """Open a shell on an emulated host. Time stands still between commands; Ctrl-D ends the run."""
    with told(False):
        written, variant, place = _operated(scenario, changes, choice, [host], at, out, force)
        with Terminal(host) as terminal:
            _run(written, variant, place, [host], terminal, force)


def up(
    scenario: ScenarioFile,
    hosts: Annotated[list[str], typer.Argument(metavar="HOST…", help="The hosts that take commands.")],
    changes: Changes = [],  # noqa: B006 - typer's way
    choice: Choice = "",
    at: At = "0s",
    out: Out = None,
    force: Force = False,
    here: Annotated[bool, typer.Option("--here", help="Stay in the foreground.")] = False,
) -> None:
    """Start emulated hosts that wait for `emu run` in the background. Time stands still meanwhile."""
    with told(False):
        written, variant, place = _operated(scenario, changes, choice, hosts, at, out, force)
        if here:
            with SocketDesk(place, hosts) as desk:
                _run(written, variant, place, hosts, desk, force)
            return
        _in_background(place)
        print(f"Up: {', '.join(hosts)}")
        print(f"incast emu run {place} {hosts[0]} COMMAND, and incast emu down {place}")


def run(
    folder: Folder,
    host: HostArgument,
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND…", help="A command, or a quoted line for its shell."),
    ],
) -> None:
    """Run a command on a host that `emu up` has started; its exit code is this one's."""
    with told(False):
        # One word is a line for the shell, several are a command and its arguments.
        words = command[command[0] == "--" :]
        line = words[0] if len(words) == 1 else shlex.join(words)
        code, output = order(folder, host, line)
        sys.stdout.buffer.write(output)
        sys.stdout.flush()
    raise typer.Exit(code)


def down(folder: Folder) -> None:
    """End what `emu up` has started. Its result is complete then."""
    with told(False):
        end(folder)
        show.place("Result", folder)


def _operated(
    scenario: Path,
    changes: list[str],
    choice: str,
    hosts: list[str],
    at: str,
    out: Path | None,
    force: bool,
) -> tuple[WrittenScenario, Variant, Path]:
    written = with_operator(WrittenScenario.from_file(scenario, changes), choice, hosts, at)
    (variant,) = make_variants(written)
    if variant.scenario.clock:
        raise RunError("between commands time stands still, and this machine's clock does not: incast run")
    return written, variant, place_of(out, variant.scenario.name, force)


def _run(
    written: WrittenScenario,
    variant: Variant,
    place: Path,
    hosts: list[str],
    desk: Desk,
    force: bool,
) -> None:
    operator = Operator(place / "guests", hosts, desk)
    done = run_here(written, variant, place, force=force, operator=operator)
    if failed := failure([done]):
        raise failed
    show.place("Result", done.folder)


def _in_background(place: Path) -> None:
    """Runs this same command in the background, until it takes commands."""
    command = [sys.executable, "-m", "incast", *sys.argv[1:], "--here"]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
        )
        until = time.monotonic() + _UP_S
        try:
            while process.poll() is None and not SocketDesk.is_there(place):
                if time.monotonic() > until:
                    process.terminate()
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:  # Nobody was told of the hosts that would wait.
            process.terminate()
            process.wait()
            raise
        if process.returncode is not None:
            said.seek(0)
            error = said.read(_SAID_MAX).decode(errors="replace").strip()
            raise RunError(error.removeprefix("error: ") or "the run has ended")
