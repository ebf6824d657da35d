"""`incast farmem run --backend swap`: right contents, kept limits, and a machine that is as it was before."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from typer.testing import CliRunner

from incast.cli.app import app
from incast.errors import RunError, ScenarioError
from incast.farmem.run import Memory, Outcome
from incast.farmem.swap import changes, device, group, local
from incast.farmem.swap.group import Group, Use, for_programs
from incast.farmem.swap.held import page
from incast.farmem.swap.local import ROOM, Keeper
from incast.farmem.swap.run import _prepare, check, run

pytestmark = pytest.mark.alone

STRESS = Path(__file__).parent / "farmem_stress.py"
SOURCE = Path(__file__).parent / "farmem_static.c"
FAR = ["--latency", "1us", "--bandwidth", "100Gbps"]
SWAP = [sys.executable, "-m", "incast", "farmem", "run", "--backend", "swap", *FAR]
FETCH_S = 1e-6 + 4096 * 8 / 100e9


@pytest.fixture(scope="module")
def _allowed() -> None:
    try:
        check()
    except RunError as refused:
        pytest.skip(f"not on this machine: {refused}")


@pytest.fixture
def _untouched(_allowed: None) -> Iterator[None]:
    before = machine()
    yield
    assert machine() == before


def machine() -> dict[str, object]:
    """What a run changes."""
    folder = for_programs("x").path.parent
    return {
        "swap": Path("/proc/swaps").read_text(),
        "cluster": device.CLUSTER.read_text(),
        "zram": sorted(path.name for path in Path("/sys/block").glob("zram*")),
        "groups": sorted(path.name for path in folder.glob("incast-farmem-*")),
        "note": (changes.FOLDER / "changes.json").exists(),
    }


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("static") / "program"
    built = subprocess.run(
        ["cc", "-O2", "-static", "-pthread", "-o", program, SOURCE], capture_output=True, check=False
    )
    if built.returncode:
        pytest.skip(f"no static program can be linked here: {built.stderr.decode()[-200:]}")
    return program


def memory(bytes_: int) -> Memory:
    return Memory(bytes_, 1_000_000, 100 * 10**9)


def said(outcome: Outcome, out: str) -> list[str]:
    assert outcome.exit_code == 0, out
    return out.splitlines()


@pytest.mark.usefixtures("_untouched")
def test_a_static_program_sees_what_it_wrote_within_its_local_memory(
    static: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    subprocess.run([static, "24"], check=True)
    digest, plainly_local = capfd.readouterr().out.splitlines()
    local = 8_000_000
    outcome = run([str(static), "24"], memory(local))
    found, most_local = said(outcome, capfd.readouterr().out)
    assert found == digest
    # By its own look at /proc, and by the group's.
    assert int(plainly_local) > 3 * local
    assert int(most_local) < local + (1 << 20)
    assert outcome.local_max_bytes is not None
    assert local / 2 < outcome.local_max_bytes < local + (1 << 20)
    assert outcome.asked_bytes > 24 << 20
    assert outcome.faults > 5000
    assert outcome.pages_in == outcome.faults
    assert (outcome.bytes_in, outcome.bytes_out) == (4096 * outcome.pages_in, 4096 * outcome.pages_out)
    assert outcome.nominal_s == pytest.approx((outcome.pages_in + outcome.pages_out) * FETCH_S)
    assert outcome.injected_s >= 0.999 * outcome.nominal_s
    assert outcome.own_s > 0
    assert outcome.backend == "swap"


@pytest.mark.usefixtures("_untouched")
def test_python_with_threads_and_forks_sees_what_it_wrote(capfd: pytest.CaptureFixture[str]) -> None:
    plain = subprocess.run([sys.executable, STRESS, "1"], check=True, capture_output=True).stdout.decode()
    outcome = run([sys.executable, str(STRESS), "1"], memory(12_000_000))
    assert said(outcome, capfd.readouterr().out) == plain.splitlines()
    assert outcome.faults > 1000


@pytest.mark.usefixtures("_untouched")
def test_nothing_is_ended_for_want_of_memory_that_could_be_taken(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Nobody has the kernel add up its numbers while it runs.
    monkeypatch.setattr(local, "_BEGIN_S", 60.0)
    for _ in range(2):
        said(run([sys.executable, str(STRESS), "1"], memory(12_000_000)), capfd.readouterr().err)


@pytest.mark.usefixtures("_untouched")
def test_the_held_page_is_on_the_groups_lists() -> None:
    # Not in a processor's own batch, where only what runs on that processor would find it.
    for _ in range(5):
        group = for_programs(f"incast-farmem-{os.getpid()}")
        with changes.undone() as noted, page(_prepare(noted, group, memory(12_000_000)), group):
            lists = dict(line.split() for line in (group.path / "memory.stat").read_text().splitlines())
            assert int(lists["active_file"]) + int(lists["inactive_file"]) > 0


@pytest.mark.usefixtures("_untouched")
def test_what_fits_does_not_wait(static: Path) -> None:
    outcome = run([str(static), "2"], memory(100_000_000))
    assert (outcome.exit_code, outcome.faults, outcome.pages_out, outcome.injected_s) == (0, 0, 0, 0)
    assert outcome.injected_over_nominal is None


@pytest.mark.usefixtures("_untouched")
def test_the_table_says_what_differs_and_the_exit_code_is_the_programs() -> None:
    done = subprocess.run(
        [*SWAP, "--local", "20MB", "--", "sh", "-c", "exit 7"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "160"},
    )
    assert done.returncode == 7, done.stderr
    for words in ("backend", "swap", "local memory in use", "written back, changed", "all of it fitted"):
        assert words in done.stderr


@contextmanager
def running(program: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that has swapped already, in a session of its own."""
    with subprocess.Popen(
        [*SWAP, "--json", "--local", "8MB", "--", program, "500"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            until = time.monotonic() + 60
            while not used():
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < until
                time.sleep(0.02)
            yield process
        finally:
            process.kill()


def used() -> int:
    """KiB on the devices of the highest priority."""
    lines = [line.split() for line in Path("/proc/swaps").read_text().splitlines()[1:]]
    return sum(int(words[3]) for words in lines if words[4] == "32767")


def programs() -> list[int]:
    noted = changes.Changes.noted()
    assert noted
    assert noted.group
    return [int(pid) for pid in (noted.group.path / "cgroup.procs").read_text().split()]


@pytest.mark.usefixtures("_untouched")
def test_a_killed_program_leaves_nothing_behind(static: Path) -> None:
    with running(static) as process:
        [pid] = programs()
        os.kill(pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGKILL
        assert json.loads(errors.decode().splitlines()[-1])["pages_out"] > 0


@pytest.mark.usefixtures("_untouched")
def test_ctrl_c_ends_the_program_and_tells_what_was_measured(static: Path) -> None:
    with running(static) as process:
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGINT
        assert json.loads(errors.decode().splitlines()[-1])["exit_code"] == 130


@pytest.mark.usefixtures("_untouched")
def test_a_request_to_end_of_a_programs_first_moment_ends_it() -> None:
    command = [*SWAP, "--json", "--local", "8MB", "--", "sh", "-c", "kill -INT $PPID; exec sleep 60"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 128 + signal.SIGINT
    assert json.loads(done.stderr.splitlines()[-1])["interrupted"], done.stderr


@pytest.mark.usefixtures("_untouched")
def test_a_killed_incast_leaves_nothing_behind(static: Path) -> None:
    with running(static) as process:
        [pid] = programs()
        process.kill()
        # The process that undoes has the error output too: its end is the end of that.
        process.communicate(timeout=60)
        assert not lives(pid)


@pytest.mark.usefixtures("_untouched")
def test_what_nobody_could_undo_the_next_run_undoes(static: Path) -> None:
    with running(static) as process:
        [pid] = programs()
        os.kill(child(process.pid, "swap.changes"), signal.SIGKILL)
        process.kill()
        process.wait(60)
        assert used()
        assert lives(pid)
        assert run(["true"], memory(20_000_000)).exit_code == 0
        assert not used()
        assert not lives(pid)
        process.communicate(timeout=60)


def lives(pid: int) -> bool:
    """Whether it runs; nobody may have asked yet how it ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def child(of: int, words: str) -> int:
    """The child whose command has these words."""
    for task in Path(f"/proc/{of}/task").iterdir():
        for pid in (task / "children").read_text().split():
            if words.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return int(pid)
    raise AssertionError(words)


@pytest.mark.usefixtures("_untouched")
def test_one_run_at_a_time(static: Path) -> None:
    with running(static) as process:
        with pytest.raises(RunError, match=rf"another .* is running \(process {process.pid}\)"):
            run(["true"], memory(20_000_000))
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)


@pytest.mark.usefixtures("_untouched")
def test_a_device_that_must_stay_is_noted_until_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    call = device._call

    def refuse(*command: str) -> None:
        if command[0] == "swapoff":
            raise RunError("swapoff failed: /dev/zram: Cannot allocate memory")
        call(*command)

    assert not changes.Changes.noted()
    changes.FOLDER.mkdir(mode=0o700, exist_ok=True)
    noted = changes.Changes(os.getpid(), device=device.Device.add())
    noted.note()
    assert noted.device
    noted.device.swap()
    monkeypatch.setattr(device, "_call", refuse)
    with pytest.raises(RunError, match=r"not undone: swapoff failed.*tries again"):
        noted.undo()
    monkeypatch.undo()
    left = changes.Changes.noted()
    assert left == noted
    left.undo()


@pytest.mark.usefixtures("_untouched")
def test_somebody_elses_device_stays() -> None:
    ours = device.Device.add()
    other = device.Device(ours.number, ours.bytes + 4096)
    ours._attribute("disksize").write_text(str(ours.bytes))
    other.remove()
    assert ours._attribute("disksize").exists()
    ours.remove()
    assert not ours._attribute("disksize").exists()
    ours.remove()


@pytest.mark.usefixtures("_untouched")
def test_a_wait_too_long_for_a_busy_processor_is_refused() -> None:
    with pytest.raises(RunError, match=r"a page would take 0\.02.* s: at most 0\.01 s"):
        run(["true"], Memory(20_000_000, 20 * 10**9, 100 * 10**9))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (["--page", "64KiB"], "swaps pages of 4KiB"),
        (["--read-ahead", "7"], "--read-ahead"),
        (["--pages-a-request", "8"], "--pages-a-request"),
        (["--policy", "lru"], "--policy"),
        (["--trace", "x.trace"], "a trace takes --backend preload"),
        (["--local", "1MB"], "at least 1024 pages are needed"),
        (["--backend", "swapp"], "swapp"),
    ],
)
def test_what_the_kernel_does_not_do_is_refused(changed: list[str], reason: str) -> None:
    done = CliRunner().invoke(
        app, ["farmem", "run", "--backend", "swap", "--local", "20MB", *FAR, *changed, "--", "true"]
    )
    assert done.exit_code == 2
    assert reason in done.stderr


@pytest.mark.usefixtures("_allowed")
def test_what_lacks_is_told_with_the_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(words: str) -> None:
        with pytest.raises(RunError, match=words):
            check()

    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 1000)
        refused("takes root: sudo incast")
    with monkeypatch.context() as patch:
        patch.setattr(device, "_CONTROL", tmp_path / "none")
        refused("modprobe zram")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        refused("mkswap, which is not here: util-linux")
        for name in ("mkswap", "swapon", "swapoff"):
            (tmp_path / name).touch(mode=0o755)
        refused("dd, which is not here: coreutils")
    with monkeypatch.context() as patch:
        patch.setattr(device, "_swaps", lambda: {"/dev/sda2": -2, "/dev/sdb2": 32767})
        with pytest.raises(RunError, match=r"/dev/sdb2 swaps with the highest priority.*swapoff"):
            device.alone()
    zswap = tmp_path / "enabled"
    zswap.write_text("Y\n")
    monkeypatch.setattr(device, "_ZSWAP", zswap)
    with pytest.raises(RunError, match=re.escape(f"echo 0 > {zswap}")):
        device.check(1)
    device.check(2)
    with pytest.raises(ScenarioError, match="no such program"):
        run(["there-is-none"], memory(20_000_000))


V1 = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
HYBRID = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw"


def test_in_version_1_it_is_below_ones_own_group() -> None:
    mounts = f"{HYBRID}\n{V1}\n"
    assert for_programs("x", mounts, "4:memory:/a/b\n0::/\n") == Group(Path("/sys/fs/cgroup/memory/a/b/x"), 1)
    # A container sees its own part.
    part = V1.replace(" / ", " /docker/17 ")
    assert for_programs("x", part, "4:memory:/docker/17/c\n") == Group(Path("/sys/fs/cgroup/memory/c/x"), 1)
    assert for_programs("x", part, "4:memory:/\n") == Group(Path("/sys/fs/cgroup/memory/x"), 1)


def test_in_version_2_it_is_where_groups_have_limits(tmp_path: Path) -> None:
    session = tmp_path / "user" / "session"
    session.mkdir(parents=True)
    mounts = f"30 23 0:28 / {tmp_path} rw - cgroup2 cgroup2 rw,nsdelegate\n"
    for folder, controllers in ((tmp_path, "cpu memory"), (tmp_path / "user", "memory pids"), (session, "")):
        (folder / "cgroup.subtree_control").write_text(f"{controllers}\n")
    assert for_programs("x", mounts, "0::/user/session\n") == Group(tmp_path / "user" / "x", 2)
    (tmp_path / "user" / "cgroup.subtree_control").write_text("pids\n")
    assert for_programs("x", mounts, "0::/user/session\n") == Group(tmp_path / "x", 2)
    (tmp_path / "cgroup.subtree_control").write_text("cpu\n")
    with pytest.raises(RunError, match=r"echo \+memory"):
        for_programs("x", mounts, "0::/user/session\n")
    with pytest.raises(RunError, match="mount cgroup2"):
        for_programs("x", "1 1 0:1 / / rw - ext4 /dev/vda rw", "0::/\n")


def test_version_2_speaks_of_the_same(tmp_path: Path) -> None:
    two = Group(tmp_path / "x", 2)
    two.create(1000)
    assert (two.path / "memory.max").read_text() == "1000"
    stat = "anon 100\nfile 70\nshmem 30\nactive_anon 90\ninactive_anon 60\n"
    for file, text in {
        "stat": stat,
        "current": "500",
        "swap.current": "40",
        "events": "max 9\noom_kill 2\n",
    }.items():
        (two.path / f"memory.{file}").write_text(text)
    assert two.use() == Use(all=500, local=150, swapped=40)
    assert two.killed() == 2


def test_the_limit_is_above_the_size_by_what_is_no_memory_of_the_program() -> None:
    limits: list[int] = []
    uses = iter(
        [
            Use((1 << 20) + (2 << 20), 2 << 20, 0),
            Use((9 << 20) + (50 << 20), 50 << 20, 30 << 20),
            Use((9 << 20) + (40 << 20), 40 << 20, 0),
        ]
    )

    def limit(bytes_: int) -> bool:
        limits.append(bytes_)
        return True

    charged = SimpleNamespace(use=lambda: next(uses), limit=limit)
    keeper = Keeper(cast(Group, charged), 50 << 20)
    for _ in range(3):
        keeper.look()
    assert limits == [(50 << 20) + (1 << 20), (50 << 20) + (9 << 20)]
    assert ROOM < 1 << 20
    assert (keeper.local, keeper.used) == (50 << 20, 80 << 20)


def test_groups_numbers_are_read_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("a 1\nb 2\n")
    assert group._numbers(tmp_path / "n") == {"a": 1, "b": 2}
