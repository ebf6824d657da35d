"""Emulated hosts: Linux as a program, in virtual time (`crates/emu`)."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from incast import _core
from incast.emu import kernel
from incast.emu.congestion import Registered


def linux(registered: Registered = ()) -> tuple[Path | None, str, Registered]:
    """What emulated hosts are made of.

    Their kernel in virtual time, if there is one; the command of a host's processes; and what was registered
    with this machine's kernel (`incast.emu.congestion`).
    """
    script = Path(__file__).with_name("member.py")
    # Neither the package nor what is installed beside it: each import costs every host of a run.
    member = [sys.executable, "-I", "-S", str(script), str(_core.__file__)]
    return kernel.find(), shlex.join(member), registered
