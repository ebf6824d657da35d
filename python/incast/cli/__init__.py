"""The command line."""

import sys

from incast.cli.exits import Exit


def main() -> None:
    """The command `incast`."""
    if sys.argv[1:] == ["broadcast", "agent"]:
        # Many may be started on a machine at once, and none needs the rest of the command line.
        from incast.broadcast.agent import join

        sys.exit(join())
    if sys.argv[1:2] == ["mine"]:
        from incast.cli.mine import app
    else:
        from incast.cli.app import app

    try:
        app()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
