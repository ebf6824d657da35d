"""The command line."""

import atexit
import errno
import gc
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from incast.cli.exits import Exit
from incast.cli.plain import take_any_text
from incast.stop import heed, was_interrupted

_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)
"""What an output can fail with."""


def main() -> None:
    """The command `incast`."""
    heed()
    # What is loaded stays: looking for garbage there took a tenth of a short command, half of it at the end.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    take_any_text()
    if sys.argv[1:] == ["broadcast", "agent"]:
        # Many may be started on a machine at once, and none needs the rest of the command line.
        from incast.broadcast.agent import join

        sys.exit(join())
    try:
        # Loading takes its time: somebody may end it by then.
        from incast.cli.app import app

        asked = sys.argv[1 : sys.argv.index("--") if "--" in sys.argv else None]
        try:
            sys.exit(_answer(app) if "--json" in asked else app())
        finally:
            if sys.stdout:  # A command may have been given none.
                sys.stdout.flush()
    except KeyboardInterrupt:
        _end_interrupted()
    except OSError as error:
        # Commands tell of what they read and write themselves: left is the output, which has no name.
        if error.filename or error.errno not in _OUTPUT:
            raise
        # What is left to be written would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # Its reader has seen enough.
            print(f"error: the output can't be written: {os.strerror(error.errno).lower()}", file=sys.stderr)
        sys.exit(Exit.FAILED)
    except Exception:
        if not was_interrupted():
            raise
        _end_interrupted()


def _end_interrupted() -> NoReturn:
    print("Interrupted.", file=sys.stderr)
    sys.exit(Exit.INTERRUPTED)


def _answer(app: Callable[..., Any]) -> int:
    """Calls a command that is to answer in JSON, whatever is wrong with the command line."""
    import typer
    from typer.exceptions import TyperException

    from incast.cli import show

    try:
        code = app(standalone_mode=False)
    except TyperException as error:
        say = getattr(error, "format_message", error.__str__)
        show.print_json({"ok": False, "problems": [{"message": say()}]})
        return Exit.USAGE
    except typer.Abort:
        show.interrupted("", as_json=True)
        return Exit.INTERRUPTED
    return code if isinstance(code, int) else Exit.OK
