"""`python -m incast.live`: a member of a live run. Its launcher's address comes by its standard input."""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

from incast.errors import RunError
from incast.live.member import Bounds, serve


def main() -> int:
    """Reads where the launcher is."""
    # Ctrl-C in the terminal, and its end, reach the whole group: the launcher decides what they mean.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    told: dict[str, Any] = json.loads(sys.stdin.readline())
    bounds = Bounds(told.get("works"), told.get("root"))
    try:
        return serve((told["ip"], told["port"]), bytes.fromhex(told["key"]), told["host"], bounds=bounds)
    except RunError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
