"""Tables of a program while it runs: what is left of them, however it ends."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from incast import recording
from incast.folder import WALKS_MARKER
from incast.recording import PROGRESS, Recording
from incast.view.places import runs


@pytest.mark.parametrize("has_result", [False, True], ids=["alone", "over a result"])
def test_a_full_disk_leaves_nothing_that_looks_like_a_run_in_progress(
    has_result: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "walked"
    if has_result:
        folder.mkdir()
        (folder / WALKS_MARKER).write_text("{}")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recording, "write_table", full)
    with Recording(folder, WALKS_MARKER, lambda: 1.0) as found:
        found.flush(lambda: {"walks": pl.DataFrame({"host": ["server0"]})}, now=True)
        assert not found.going
        assert not found.due()
        found.keep("walks")
    assert not (folder / PROGRESS).exists()
    assert folder.exists() == has_result
    if has_result:
        assert runs([folder])[0].folder == folder


@pytest.mark.parametrize("has_result", [False, True], ids=["alone", "over a result"])
def test_what_a_killed_run_recorded_hides_no_result(has_result: bool, tmp_path: Path) -> None:
    folder = tmp_path / "walked"
    if has_result:
        folder.mkdir()
        (folder / WALKS_MARKER).write_text("{}")
    code = (
        "import pathlib, sys, time; from incast.recording import Recording\n"
        f"with Recording(pathlib.Path(sys.argv[1]), {WALKS_MARKER!r}): print('up', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert runs([folder])[0].folder == folder / PROGRESS
        os.kill(process.pid, signal.SIGKILL)
    assert runs([folder])[0].folder == (folder if has_result else folder / PROGRESS)
