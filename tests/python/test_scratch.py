"""Temporary folders: theirs while somebody needs them, and gone after a kill."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import incast
from incast.errors import RunError
from incast.scratch import KEPT, KEPT_S, LEFT, PREFIX, Scratch, kept
from walk_servers import SBM


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    return place


def test_folders_of_the_living_stay_and_those_of_the_dead_go(temporary: Path) -> None:
    dead = temporary / f"{PREFIX}dead"
    (dead / "inner").mkdir(parents=True)
    (dead / "inner" / "file").write_text("left")
    (temporary / "incast-other").mkdir()
    (temporary / f"{PREFIX}file").write_text("no folder")
    (temporary / f"{PREFIX}link").symlink_to(temporary / "incast-other")
    with Scratch() as first, Scratch() as second:
        assert not dead.exists()
        assert {each.path.parent for each in (first, second)} == {temporary}
        assert first.path.is_dir()
        assert second.path.is_dir()
        assert first.path.stat().st_mode & 0o777 == 0o700
    assert {each.name for each in temporary.iterdir()} == {
        "incast-other",
        f"{PREFIX}file",
        f"{PREFIX}link",
    }


@pytest.mark.usefixtures("temporary")
def test_a_folder_stays_while_who_inherited_its_lock_lives() -> None:
    scratch = Scratch()
    child = subprocess.Popen(["sleep", "60"], pass_fds=[scratch.lock])
    os.close(scratch.lock)  # As a kill does.
    with Scratch():
        assert scratch.path.is_dir()
    child.kill()
    child.wait()
    with Scratch():
        assert not scratch.path.exists()


def test_a_kept_folder_is_found_again_by_the_next_life_and_goes_after_an_hour(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("incast.scratch.SWEPT_S", 0.1)

    def fail(name: str) -> None:
        with kept(name) as folder:
            (folder / "state").write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail("one")
    with kept("two"), pytest.raises(RunError, match="another process"), kept("two"):
        pass
    with kept("one") as folder:
        assert [file.name for file in folder.iterdir()] == ["state"]
    assert not folder.exists(), "it has ended in order"
    with pytest.raises(KeyError):
        fail("lost")
    lost = temporary / f"{KEPT}lost"
    with kept("other"):
        assert (lost / LEFT).exists()
    long_ago = time.time() - KEPT_S - 1
    os.utime(lost / LEFT, (long_ago, long_ago))
    with kept("other"):
        assert not lost.exists()
    assert not list(temporary.iterdir())


def test_a_kept_folder_that_another_process_sweeps_is_waited_for(temporary: Path) -> None:
    swept = temporary / f"{KEPT}one"
    swept.mkdir()
    lock = os.open(swept, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    begun = time.monotonic()
    threading.Timer(0.2, os.close, (lock,)).start()
    with kept("one") as folder:
        assert time.monotonic() - begun >= 0.2
        assert folder == swept


def test_many_at_a_time_take_nothing_from_each_other(temporary: Path) -> None:
    code = (
        "from incast.scratch import Scratch\n"
        "for _ in range(50):\n"
        "    with Scratch() as one, Scratch() as two:\n"
        "        (one.path / 'a').write_text('a'); (two.path / 'b').write_text('b')\n"
        "        assert (one.path / 'a').exists() and (two.path / 'b').exists()\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [run.wait(120) for run in runs] == [0] * 3
    assert not list(temporary.iterdir())


def test_what_a_killed_launcher_leaves_goes_at_the_next_start(temporary: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "out"
    command = [sys.executable, "-m", "incast", "walk", SBM, "--walks", "4000000", "--servers", "2"]
    process = subprocess.Popen([*command, "--out", str(out)], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not list(temporary.glob(f"{PREFIX}*/1/.journal")):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list(temporary.glob(f"{PREFIX}*"))
    assert any(out.parent.iterdir())
    # Members end when their launcher is gone.
    time.sleep(2)
    result = incast.walk(SBM, walks=5, servers=2, out=out)
    assert not list(temporary.iterdir())
    assert [each.name for each in out.parent.iterdir()] == ["out"]
    assert result.table("scores")["walks"].sum() == 300
