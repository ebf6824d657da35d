"""Commands for an emulated host from a terminal, or line by line from a pipe."""

from __future__ import annotations

import signal
import sys
from types import FrameType

from incast import text
from incast.emu.operator import Order
from incast.stop import Stop


class Terminal(Stop):
    """A desk. Ctrl-C is for the command that runs; SIGTERM and SIGHUP end the run in good order."""

    def __init__(self, host: str) -> None:
        super().__init__()
        self.host = host
        self._is_terminal = sys.stdin.isatty()
        if self._is_terminal:
            # Lines can be edited and come back.
            import readline  # noqa: F401
        self._asks = self._pressed = False

    def _on_signal(self, number: int, _: FrameType | None, /) -> None:
        if number == signal.SIGINT:
            self._pressed = True
        else:
            self.event.set()
        if self._asks:
            raise KeyboardInterrupt

    def over(self) -> bool:
        """Whether somebody wants it to end."""
        return self.asked

    def next(self, now_ps: int) -> Order | None:
        """The next line."""
        while not self.asked:
            try:
                self._asks = True
                line = input(f"{self.host} {text.time(now_ps)}$ " if self._is_terminal else "").strip()
            except KeyboardInterrupt:
                print()
                continue
            except EOFError:
                break
            finally:
                self._asks = self._pressed = False
            if line == "exit":
                return None
            if line:
                return Order(self.host, line)
        if self._is_terminal:
            print()
        return None

    def answer(self, _order: Order, _code: int, output: bytes) -> None:
        """Prints what has come of it."""
        sys.stdout.buffer.write(output)
        sys.stdout.flush()

    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed since the last call."""
        pressed, self._pressed = self._pressed, False
        return pressed
