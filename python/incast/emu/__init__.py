"""Emulated hosts: Linux as a program, in virtual time (`crates/emu`)."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from incast import _core
from incast.emu import kernel
from incast.emu.congestion import Registered


def linux(
    registered: Registered = (), scenario: Path = Path()
) -> tuple[Path | None, str, Registered, list[Path]]:
    """What emulated hosts are made of.

    Their kernel in virtual time, if there is one; the command of a host's processes; what was registered with
    this machine's kernel (`incast.emu.congestion`); and the folders that hosts see even in `/tmp` and the
    like, which are their own: the scenario's, the one where incast was started, and incast's.
    """
    script = Path(__file__).with_name("member.py")
    # Neither the package nor what is installed beside it: each import costs every host of a run.
    member = [sys.executable, "-I", "-S", str(script), str(_core.__file__)]
    package = Path(__file__).parents[2]
    seen = [*_started(scenario), package, Path(sys.prefix), Path(sys.base_prefix)]
    return kernel.find(), shlex.join(member), registered, seen


def _started(scenario: Path) -> list[Path]:
    """The scenario's folder, and the one where incast was started unless that was removed."""
    try:
        return [scenario.absolute(), Path.cwd()]
    except FileNotFoundError:
        return [scenario] if scenario.is_absolute() else []
