"""Emulated hosts: Linux as a program, in virtual time (`crates/emu`)."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from incast import _core
from incast.emu import kernel


def linux() -> tuple[Path, str] | None:
    """What emulated hosts are made of: their kernel, and the command of a host's processes; or `None`."""
    program = kernel.find()
    script = Path(__file__).with_name("member.py")
    # Neither the package nor what is installed beside it: each import costs every host of a run.
    member = [sys.executable, "-I", "-S", str(script), str(_core.__file__)]
    return None if program is None else (program, shlex.join(member))
