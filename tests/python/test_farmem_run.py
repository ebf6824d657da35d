"""`incast farmem run`: programs see the memory they would see without it, and what is measured is what happened."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from typer.testing import CliRunner

from farmem_programs import SIGNALS, SWEEP, Accesses, compiled, memory, python, remote_memory_or_skip
from incast.cli.app import app
from incast.errors import RunError, ScenarioError
from incast.farmem.run import LIBRARY, end_of, run, started

STRESS = Path(__file__).parent / "farmem_stress.py"
INCAST = [sys.executable, "-m", "incast", "farmem", "run"]
FAR = ["--latency", "1us", "--bandwidth", "100Gbps"]


@pytest.fixture(autouse=True, scope="module")
def _allowed() -> None:
    remote_memory_or_skip()


@pytest.fixture(scope="module")
def plain() -> bytes:
    return subprocess.run([sys.executable, STRESS, "1"], check=True, capture_output=True).stdout


@pytest.mark.parametrize(
    ("pages", "page", "more"),
    [
        (1500, 4096, {}),
        (3000, 4096, {"read_ahead": 7, "pages_a_request": 8}),
        (300, 65536, {}),
        (16, 2 << 20, {}),
        (3000, 4096, {"policy": "lru"}),
        (3000, 4096, {"policy": "clock", "read_ahead": 3}),
        (300, 65536, {"policy": "lru"}),
    ],
)
def test_what_a_program_sees_is_what_it_wrote(
    pages: int, page: int, more: dict[str, Any], plain: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome = run([sys.executable, str(STRESS), "1"], replace(memory(pages, page), **more))
    said = capfd.readouterr()
    assert outcome.exit_code == 0, said.err
    assert said.out.encode() == plain
    assert outcome.processes == 5  # Two children, and a child of each.
    assert outcome.faults > 10
    assert outcome.pages_in >= outcome.faults
    assert outcome.bytes_in == outcome.pages_in * page
    assert outcome.injected_s >= outcome.nominal_s > 0


def test_pages_that_the_kernel_moves_meanwhile_keep_what_they_hold(
    plain: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    compact = Path("/proc/sys/vm/compact_memory")
    if not os.access(compact, os.W_OK):
        pytest.skip("only root can have the kernel move pages")
    ended = threading.Event()

    def move() -> None:
        while not ended.wait(0.02):
            compact.write_text("1")

    mover = threading.Thread(target=move)
    mover.start()
    try:
        outcome = run([sys.executable, str(STRESS), "1"], memory(3000))
    finally:
        ended.set()
        mover.join()
    said = capfd.readouterr()
    assert outcome.exit_code == 0, said.err
    assert said.out.encode() == plain


def test_numpy_computes_the_same(capfd: pytest.CaptureFixture[str]) -> None:
    code = (
        "import numpy as np; a = np.random.default_rng(1).random((90, 90)); "
        "print((a @ a).sum(), np.sort(a.ravel())[777], np.linalg.svd(a)[1][:3])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    expected = capfd.readouterr().out
    assert python(code, memory(2500)).faults > 100
    assert capfd.readouterr().out == expected


@functools.cache
def python_with_tests() -> str:
    """A Python that has its tests: distributions leave them out."""
    builds = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"), reverse=True)
    for found in (sys.executable, *map(str, builds)):
        has = subprocess.run([found, "-c", "import test.test_list"], capture_output=True, check=False)
        if not has.returncode:
            return found
    pytest.skip("no Python here comes with its tests (python -m test)")


@pytest.mark.parametrize("module", ["test_list", "test_dict", "test_bytes", "test_mmap", "test_fork1"])
def test_pythons_own_tests_pass(module: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([python_with_tests(), "-m", "test", "-q", module], memory(3000)).exit_code == 0, (
        capfd.readouterr().out
    )


def more(change: str, **options: int) -> tuple[int, int]:
    """Faults, and pages sent back, of two sweeps more over 3,000 pages, where 1,000 are local."""
    one, three = (
        python(SWEEP.format(sweeps=sweeps, change=change), memory(1000, **options)) for sweeps in (1, 3)
    )
    return three.faults - one.faults, three.pages_out - one.pages_out


def test_local_memory_is_as_large_as_was_said(capfd: pytest.CaptureFixture[str]) -> None:
    # First in, first out: each sweep finds no page where it left it.
    faults, sent = more(" += 1")
    assert 800 < int(capfd.readouterr().out.split()[-1]) <= 1000
    assert 5900 <= faults < 6600
    assert 5000 <= sent < 6600


def test_pages_that_nobody_wrote_to_are_not_sent_back() -> None:
    faults, sent = more("")
    assert 5900 <= faults < 6600
    assert sent < 900


def test_where_all_fits_nothing_is_remote() -> None:
    outcome = python("print(sum(range(1000)))", memory(1 << 20))
    assert (outcome.exit_code, outcome.processes, outcome.faults) == (0, 0, 0)
    assert outcome.injected_over_nominal is None
    assert outcome.asked_bytes > 500_000


def test_reading_ahead_makes_fewer_faults() -> None:
    faults, sent = more(" += 1", read_ahead=7, pages_a_request=8)
    assert 700 <= faults < 1100
    assert sent > 5000


# The most faults beyond those of a cache that sees all accesses, and the part of FIFO's that this may be.
@pytest.mark.parametrize(
    ("policy", "beyond", "of_fifo"), [("fifo", 0.001, 1), ("clock", 0.06, 0.15), ("lru", 0.04, 0.2)]
)
def test_a_policy_faults_as_its_cache_does(
    policy: str, beyond: float, of_fifo: float, tmp_path: Path
) -> None:
    accesses = Accesses(tmp_path, pages=4000, times=100_000)
    for pages in (200, 1000):
        exact, fifo = (accesses.faults(pages, name) for name in (policy, "fifo"))
        outcome = run(accesses.command, replace(memory(pages), policy=policy))
        assert outcome.exit_code == 0
        assert exact * 0.999 <= outcome.faults <= exact * (1 + beyond)
        assert outcome.faults - exact <= of_fifo * max(fifo - exact, 0.001 * exact)
        assert ((outcome.soft_faults or 0) > 1000) == (policy != "fifo")


CLOCK = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000L + t.tv_nsec; }
static int compare(const void *a, const void *b) { long x = *(long *)a, y = *(long *)b; return (x > y) - (x < y); }
int main(void) {
    static long took[4000];
    volatile char *block = memset(malloc(4000 * 4096L), 1, 4000 * 4096L);
    for (int sweep = 0; sweep < 3; sweep++)
        for (long page = 0; page < 4000; page++) {
            long before = now();
            (void)block[page * 4096];
            took[page] = now() - before;
        }
    qsort(took, 4000, sizeof *took, compare);
    printf("%ld\\n", took[400]);
    return 0;
}
"""


@pytest.mark.alone
def test_another_clock_sees_the_delay_that_was_asked_for(tmp_path: Path) -> None:
    program = compiled(CLOCK, tmp_path / "clock")
    took = {10: math.inf, 30: math.inf}

    def right() -> bool:
        # Pages that were only read: one comes, none is sent. The tenth percentile, because other load makes some
        # faults longer. A thread that sleeps longer is woken later: by half a microsecond on some machines, with
        # and without waits of ours.
        return took[10] > 10.3 and took[30] - took[10] == pytest.approx(20, abs=0.8)

    # In turns, and the least of at most eight: other load makes some runs longer.
    for us in (10, 30) * 8:
        if right():
            break
        with tempfile.TemporaryFile() as said:
            run([str(program)], replace(memory(1000), latency_ps=us * 1_000_000), log=said)
            said.seek(0)
            took[us] = min(took[us], int(said.read()) / 1000)
    assert right(), took


@pytest.mark.alone
def test_what_a_fault_costs_has_nothing_of_the_programs_own_time_in_it() -> None:
    code = """
import time
block = bytearray(4_000_000)
for at in range(0, len(block), 4096):
    block[at] = 1
    until = time.monotonic_ns() + 300_000
    while time.monotonic_ns() < until:
        pass
"""
    outcome = python(code, memory(100))
    assert outcome.own_us_a_fault is not None
    # Both are on one processor; the program goes on when it is woken, and computes.
    assert 0.5 < outcome.own_us_a_fault < 20


SWEEPS = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
int main(void) {
    unsigned char *at = mmap(0, 600 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct timespec a, b;
    for (int sweep = 0; sweep < 41; sweep++) {
        if (sweep == 1) clock_gettime(CLOCK_MONOTONIC, &a);
        for (long page = 0; page < 600; page++) at[page * 4096]++;
    }
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%ld\\n", (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec);
}
"""


@pytest.mark.alone
def test_what_a_fault_is_said_to_cost_is_what_the_program_loses(tmp_path: Path) -> None:
    program = compiled(SWEEPS, tmp_path / "sweeps")
    runs = [cost_of_a_fault(program, tmp_path / "said") for _ in range(3)]
    # A machine that hosts this one may stop it for a while.
    share = median(said / seen for said, seen, _ in runs)
    assert share < 1.2
    if all(first for _, _, first in runs):
        assert share > 0.6


def cost_of_a_fault(program: Path, said: Path) -> tuple[float, float, bool]:
    """What a fault is said to cost, what the program loses by one (in us), and whether it ran ahead of others."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        # Ahead of whatever else this machine does, as far as this user may.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        first = os.sched_getscheduler(0) == os.SCHED_FIFO
        with said.open("w+b") as log:
            outcome = run([str(program)], memory(200), log=log)
            seen_us = int(said.read_text()) / (40 * 600) / 1000
    finally:
        os.sched_setscheduler(0, *before)
    seen_us -= outcome.nominal_s / outcome.faults * 1e6
    assert outcome.own_us_a_fault is not None
    assert outcome.lost_us_a_fault is not None
    assert outcome.own_us_a_fault + 0.5 < outcome.lost_us_a_fault
    return outcome.lost_us_a_fault, seen_us, first


def incast(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*INCAST, *arguments], capture_output=True, text=True, check=False)


def test_output_and_exit_code_are_the_programs() -> None:
    code = "import sys; x = bytearray(3_000_000); print('out'); sys.exit(7)"
    done = incast("--local", "1MB", *FAR, "--json", "--", sys.executable, "-c", code)
    assert (done.returncode, done.stdout) == (7, "out\n")
    measured = json.loads(done.stderr)
    assert measured["exit_code"] == 7
    assert measured["first_touches"] > 300
    shown = incast("--local", "1MB", *FAR, "--", sys.executable, "-c", code)
    assert "injected over nominal" in shown.stderr


@pytest.mark.alone
def test_local_memory_may_be_a_share_of_what_the_program_has_in_use() -> None:
    code = "x = bytearray(8_000_000); x[::4096] = bytes(range(200)) * 9 + bytes(154); print('out')"
    done = incast("--local", "50%", *FAR, "--json", "--", sys.executable, "-c", code)
    assert (done.returncode, done.stdout) == (0, "out\n"), done.stderr
    measured = json.loads(done.stderr)
    assert measured["local_bytes"] == pytest.approx(measured["touched_bytes"] / 2, rel=0.05)
    assert measured["asked_bytes"] > 8_000_000
    assert measured["all_local_s"] > 0
    assert measured["fetches_a_page"] * (measured["adopted"] + measured["first_touches"]) == pytest.approx(
        measured["faults"]
    )
    failing = incast("--local", "50%", *FAR, "--", sys.executable, "-c", "raise SystemExit(3)")
    assert failing.returncode == 4
    assert "exit code 3" in failing.stderr


def test_the_kernel_gives_no_huge_pages() -> None:
    code = "print([line for line in open('/proc/self/status') if line.startswith('THP_enabled')])"
    done = incast("--local", "50%", *FAR, "--", sys.executable, "-c", code)
    assert done.stdout in ("['THP_enabled:\\t0\\n']\n", "[]\n")


def test_a_signals_end_is_told() -> None:
    done = incast("--local", "1MB", *FAR, "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert done.returncode == 128 + signal.SIGKILL


def test_ctrl_c_ends_the_program_and_tells_what_was_measured() -> None:
    # Short sleeps: Python loses a signal that arrives just before a sleep until that sleep has ended.
    code = "import time; print('up', flush=True)\nwhile True: time.sleep(0.05)"
    with subprocess.Popen(
        [*INCAST, "--local", "1MB", *FAR, "--json", "--", sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        process.send_signal(signal.SIGINT)  # Of a service manager: a terminal would tell the program too.
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert b"Traceback" in errors  # The program's own.
    assert json.loads(errors.decode().splitlines()[-1])["exit_code"] == 130


SLEEP = (["sleep", "60"], Path(shutil.which("sleep") or ""), None, None)


def test_a_request_to_end_that_comes_while_the_program_starts_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        os.kill(os.getpid(), signal.SIGINT)
        return popen(*arguments, **options)

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    with started(*SLEEP) as (process, interrupted):
        assert process.wait() == -signal.SIGINT
    assert interrupted.is_set()


def test_a_program_that_cannot_enter_its_control_group_is_told(tmp_path: Path) -> None:
    gone = (tmp_path / "gone" / "cgroup.procs").read_bytes
    with (
        pytest.raises(RunError, match="sleep can't be started: it can't enter its control group"),
        started(*SLEEP, preexec_fn=gone),
    ):
        pass


def test_a_request_to_end_that_ends_no_wait_ends_the_program() -> None:
    def interrupt() -> None:
        time.sleep(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with started(*SLEEP) as (process, interrupted):
        thread.start()
        assert end_of(process) == -signal.SIGINT
    thread.join()
    assert interrupted.is_set()


def test_a_request_to_end_of_a_programs_first_moment_ends_it() -> None:
    done = incast("--local", "1MB", *FAR, "--json", "--", "sh", "-c", "kill -INT $PPID; exec sleep 60")
    assert done.returncode == 128 + signal.SIGINT
    assert json.loads(done.stderr.splitlines()[-1])["interrupted"], done.stderr


def test_a_terminals_ctrl_c_reaches_the_program_once() -> None:
    code = (
        "import signal\n"
        "one = {signal.SIGINT}\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, one)\n"
        "print('up', flush=True)\n"
        "times = 0\n"
        "while signal.sigtimedwait(one, 1 if times else 60): times += 1\n"
        "print(times)"
    )
    terminal, its_end = os.openpty()
    with subprocess.Popen(
        ["setsid", "--ctty", *INCAST, "--local", "1MB", *FAR, "--", sys.executable, "-c", code],
        stdin=its_end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(its_end)
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        os.write(terminal, b"\x03")
        said, errors = process.communicate(timeout=60)
    os.close(terminal)
    assert said == b"1\n", errors.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("code", [0, 3])
def test_a_request_to_end_while_all_memory_is_local_ends_all(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    up = tmp_path / "up"
    program = (
        "import pathlib, signal, sys, time\n"
        f"signal.signal({int(number)}, lambda *_: sys.exit({code}))\n"
        f"pathlib.Path({str(up)!r}).open('a').write('up')\n"
        "while True: time.sleep(0.05)"
    )
    with subprocess.Popen(
        [*INCAST, "--local", "50%", *FAR, "--", sys.executable, "-c", program],
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        end = time.monotonic() + 60
        while not (up.exists() and up.read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, b"Interrupted.\n")
    assert up.read_text() == "up", "the program was not run again"


@pytest.fixture
def a_program(tmp_path: Path) -> Path:
    return Path(shutil.copy(shutil.which("true") or "/bin/true", tmp_path / "program"))


def test_a_static_program_is_refused(a_program: Path) -> None:
    head = bytearray(a_program.read_bytes())
    offset, count = struct.unpack_from("<Q", head, 32)[0], struct.unpack_from("<H", head, 56)[0]
    for at in range(offset, offset + 56 * count, 56):
        if struct.unpack_from("<I", head, at)[0] == 3:
            struct.pack_into("<I", head, at, 0)
    a_program.write_bytes(head)
    with pytest.raises(ScenarioError, match=r"linked statically.*Link it dynamically.*--backend swap"):
        run([str(a_program)], memory(100))


def test_a_program_with_privileges_is_refused(a_program: Path, tmp_path: Path) -> None:
    a_program.chmod(0o4755)
    with pytest.raises(ScenarioError, match=r"privileges of its own.*Run a copy.*--backend swap"):
        run([str(a_program)], memory(100))
    script = tmp_path / "script"
    script.write_text(f"#!{a_program}\n")
    script.chmod(0o755)
    with pytest.raises(ScenarioError, match="privileges of its own"):
        run([str(script)], memory(100))


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text("hello")
    file.chmod(0o755)
    with pytest.raises(ScenarioError, match="no program of 64 bits"):
        run([str(file)], memory(100))
    with pytest.raises(ScenarioError, match="no such program"):
        run(["there-is-none"], memory(100))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--local", "60kB"], "at least 16 pages are needed"),
        (["--trace", "."], "can't be written"),
        (["--local", "1GB", "--page", "3KiB"], "power of two"),
        (["--local", "20MB", "--page", "2MiB"], "at least 16 pages are needed"),
        (["--local", "200"], "unit"),
        (["--local", "0%"], "share"),
        (["--local", "1MB,2MB"], "one size"),
        (["--latency", "10 lightyears"], "lightyears"),
        (["--bandwidth", "40"], "unit"),
        (["--bandwidth", "1Gbps,2Gbps"], "one bandwidth"),
    ],
)
def test_what_cant_be_is_refused(changed: list[str], said: str) -> None:
    done = CliRunner().invoke(app, ["farmem", "run", "--local", "1MB", *FAR, *changed, "--", "true"])
    assert done.exit_code == 2
    assert said in done.stderr


def test_without_permission_the_way_out_is_told() -> None:
    if os.geteuid() != 0 or Path("/proc/sys/vm/unprivileged_userfaultfd").read_text() != "0\n":
        pytest.skip("only root can give up what others lack here")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        library = shutil.copy(LIBRARY, folder)
        done = subprocess.run(
            ["/bin/true"],
            env={"LD_PRELOAD": library, "INCAST_FARMEM": "check"},
            user=65534,
            group=65534,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 125
    for way in ("vm.unprivileged_userfaultfd=1", "/dev/userfaultfd", "CAP_SYS_PTRACE"):
        assert way in done.stderr


def test_without_room_for_addresses_the_way_out_is_told() -> None:
    limited = ["sh", "-c", f"ulimit -v 8000000; LD_PRELOAD={LIBRARY} INCAST_FARMEM=check exec true"]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert "ulimit -v unlimited" in done.stderr


THREADS = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define HELD 64
static void *work(void *seed) {
    unsigned state = (unsigned)(long)seed;
    unsigned char *held[HELD] = {0};
    unsigned short size[HELD] = {0};
    for (int turn = 0; turn < 300000; turn++) {
        state = state * 1103515245 + 12345;
        int at = state >> 8 & (HELD - 1);
        for (int byte = 0; byte < size[at]; byte++) if (held[at][byte] != (unsigned char)at) abort();
        free(held[at]);
        size[at] = 16 + (state >> 16) % 200;
        held[at] = memset(malloc(size[at]), at, size[at]);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[16];
    for (long each = 0; each < 16; each++) pthread_create(threads + each, NULL, work, (void *)(each + 1));
    for (int each = 0; each < 16; each++) pthread_join(threads[each], NULL);
    return 0;
}
"""


def test_more_threads_than_heaps_allocate(tmp_path: Path) -> None:
    program = compiled(THREADS, tmp_path / "threads")
    assert run([str(program)], memory(1 << 20)).exit_code == 0


def test_a_thread_outlives_the_first_one() -> None:
    code = (
        "import ctypes, threading, os\n"
        "x = bytearray(2_000_000)\n"
        "def rest():\n"
        "    if os.fork() == 0:\n"
        "        return\n"
        "    assert os.wait()[1] == 0\n"
        "w = threading.Thread(target=rest); w.start(); w.join()\n"
    )
    began = time.monotonic()
    assert python(code, memory(100)).exit_code == 0
    assert time.monotonic() - began < 60


def test_one_thread_stays_where_its_faults_are_handled_and_several_do_not() -> None:
    code = (
        "import os, threading\n"
        "def really():\n"
        "    [line] = [line for line in open('/proc/thread-self/status') if line.startswith('Cpus_allowed:')]\n"
        "    return bin(int(line.split()[1].replace(',', ''), 16)).count('1')\n"
        "before = os.sched_getaffinity(0)\n"
        "x = bytearray(3_000_000)\n"
        "assert really() == 1 and os.sched_getaffinity(0) == before\n"
        "t = threading.Thread(target=lambda: None); t.start(); t.join()\n"
        "assert really() == len(os.sched_getaffinity(0)) == len(before)\n"
        "os.sched_setaffinity(0, {min(before)})\n"
        "assert os.sched_getaffinity(0) == {min(before)}\n"
    )
    assert python(code, memory(300)).exit_code == 0


def test_signals_come_while_a_program_forks(tmp_path: Path) -> None:
    assert run([str(compiled(SIGNALS, tmp_path / "signals"))], memory(100)).exit_code == 0
