"""Commands as they are typed, run in the test's process."""

from __future__ import annotations

import io
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

import pytest

from incast.cli import main
from incast.stop import REQUESTS


@dataclass(frozen=True)
class Said:
    returncode: int
    stdout: str
    stderr: str


def call(*arguments: object) -> Said:
    """The command as typed, in this process: starting one takes longer than most of these answers."""
    out, err = io.StringIO(), io.StringIO()
    before = {number: signal.getsignal(number) for number in REQUESTS}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["incast", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return Said(code, out.getvalue(), err.getvalue())
