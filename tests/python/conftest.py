"""Settings of the tests, and what several files need."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from testkit.browsers import launched

from broadcasts import content
from incast import stop

# Other work may keep the machine busy: a slow example is no failure. A failure prints how to run it again. The
# examples are the same each time, so that a failure comes from a change; `make search` looks for new ones.
settings.register_profile("incast", deadline=None, print_blob=True, max_examples=60, derandomize=True)
settings.register_profile("search", deadline=None, print_blob=True, max_examples=2000)
settings.load_profile("incast")

# Several workers say that their terminal is 80 columns wide, whatever a test asks for.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)

# A shell ignores Ctrl-C for what it starts in the background, and nohup ignores SIGHUP. Programs that the tests
# interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser for tests whose pages stay open."""
    with launched() as running:
        yield running


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """A browser for tests of pages, which are closed when a test ends: one that plays would go on."""
    before = set(chromium.contexts)
    yield chromium
    for context in set(chromium.contexts) - before:
        context.close()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A file to send, and a folder for each of three hosts that are all this one."""
    (tmp_path / "file.bin").write_bytes(content(3_000_000))
    (tmp_path / "hosts.txt").write_text("one\ntwo\nthree\n")
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def swallowed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A request to end of which a library has made nothing."""
    monkeypatch.setattr(stop, "_interrupted", threading.Event())
    before = {number: signal.getsignal(number) for number in stop.REQUESTS}
    stop.heed()
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
