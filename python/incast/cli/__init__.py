"""The command line."""

import sys

from incast.cli.exits import Exit


def main() -> None:
    """The command `incast`."""
    if sys.argv[1:] == ["broadcast", "agent"]:
        # Many may be started on a machine at once, and none needs the rest of the command line.
        from incast.broadcast.agent import join

        sys.exit(join())
    if sys.argv[1:3] == ["broadcast", "agent"]:
        from incast.cli.broadcast_agent import alone

        return alone()
    if sys.argv[1:2] == ["mine"] and _mined(sys.argv[2:]):
        return None
    try:
        # Loading takes its time: somebody may end it by then.
        from incast.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


def _mined(arguments: list[str]) -> bool:
    """Mines, where the arguments are plain: most files take less time than the command line to load."""
    from incast.cli.mine_work import quick, work
    from incast.errors import IncastError

    asked = quick(arguments)
    if asked is None:
        return False
    try:
        work(asked)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except (IncastError, OSError):
        import typer

        from incast.cli.common import told

        try:
            with told(asked.as_json):
                raise
        except typer.Exit as ended:
            sys.exit(ended.exit_code)
    return True
