"""The command line."""

import sys

from incast.cli.exits import Exit


def main() -> None:
    """The command `incast`."""
    from incast.cli.app import app

    try:
        app()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
