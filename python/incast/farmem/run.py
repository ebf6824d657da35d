"""Runs a program with its anonymous memory on remote memory: `crates/preload` in the program does the work.

Each process of the program has local memory of this size and writes its numbers into a file of its own, which
outlives it however it ends.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from types import FrameType
from typing import IO, Any

from incast.errors import RunError
from incast.farmem import hugepages
from incast.farmem import program as programs
from incast.farmem.coverage import Coverage, Library, Watch
from incast.farmem.server import MemoryServer, derive
from incast.scratch import Scratch
from incast.stop import HEAR_S, REQUESTS
from incast.text import plural

__all__ = ["ALL", "LEAST_PAGES", "LIBRARY", "Compression", "Memory", "Outcome", "end_of", "run", "started"]

LIBRARY = Path(__file__).parent / "libincast_preload.so"
"""What is loaded into programs; `pip install` builds it."""
ALL = 1 << 42
"""Local memory that is more than any program asks for: nothing becomes remote."""
LEAST_PAGES = 16
"""Least pages of local memory: an instruction can touch several, and each thread needs some."""
_VARIABLE = "INCAST_FARMEM"
_CPUS = 64
"""Processors that a program which is started by one that stays on one of them may go to again."""
_KEY = "server.key"
"""Where programs find the key of a memory server."""
_WAITS_NS = (500, 1000, 1500, 2000, 3000, 4000, 8000, 32_000)
"""For which programs count what they would hide."""
_WHOLE, _NO_SPACE, _TOO_LONG, _NO_FILE = range(4)
"""What programs say of a trace (crates/preload/src/tracing.rs)."""
_NAMES = 4096
_RECORD_BYTES = 16
"""Bytes of a file of numbers that are their names; the numbers have as many, and the places behind them."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Local memory, and how far away the rest is."""

    local: int
    """Bytes of local memory a process."""
    latency_ps: int
    rate_bps: int
    """0 with a server: nothing is waited beyond what it takes."""
    page: int = 4096
    """Bytes that are exchanged at a time."""
    read_ahead: int = 0
    """Pages that are fetched along with one."""
    pages_a_request: int = 1
    """How many pages share a latency."""
    policy: str = "fifo"
    """Which page leaves: fifo, clock or lru."""
    compress: str | None = None
    """How pages are compressed on their way, and where they are kept: lz4 or zstd."""
    server: MemoryServer | None = None
    """Where the rest is; None: this process keeps it, and only waits."""
    trace: Path | None = None
    """Where a trace of the faults is written: of the process that has the most, without what it forks."""

    asked: tuple[int, ...] = ()
    """Local memories in bytes that the trace is asked about: it has all of their misses, and the program gets
    more local memory than `local` where it would be much slower than with the least of them."""

    def variable(self, folder: Path) -> str:
        """As the library reads it from the environment."""
        said = {
            "local": self.local // self.page * self.page,
            "page": self.page,
            "latency": self.latency_ps,
            "rate": self.rate_bps,
            "read_ahead": self.read_ahead,
            "pages_a_request": self.pages_a_request,
            "policy": self.policy,
            "trace": int(self.trace is not None),
            "cpus": sum(1 << cpu for cpu in os.sched_getaffinity(0) if cpu < _CPUS),
            "folder": folder,
        }
        if self.trace and self.asked:
            said["asked"] = "+".join(map(str, self.asked))
        if self.compress:
            said["codec"] = self.compress
        if self.server:
            ip, port = self.server.ip, self.server.port
            said["server"] = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
            said["timeout"] = self.server.timeout_ms
        return ",".join(f"{key}={value}" for key, value in said.items())


@dataclass(frozen=True, slots=True)
class Compression:
    """What compression came to."""

    codec: str
    plain_bytes_in: int
    """Bytes from remote memory as the program has them; compressed, they are `bytes_in`."""
    plain_bytes_out: int
    compressed_pages: int
    """Pages of 4 KiB, those that did not get smaller too."""
    compress_s: float
    """Processor time for all of them."""
    decompressed_pages: int
    decompress_s: float

    @property
    def compress_us_a_page(self) -> float | None:
        """None when no page was compressed."""
        return self.compress_s / self.compressed_pages * 1e6 if self.compressed_pages else None

    @property
    def decompress_us_a_page(self) -> float | None:
        """None when no page was decompressed."""
        return self.decompress_s / self.decompressed_pages * 1e6 if self.decompressed_pages else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run; numbers are of all its processes."""

    command: list[str]
    exit_code: int
    """The program's; 128 and a signal's number when that ended it."""
    wall_s: float
    processes: int | None
    """Processes whose memory became remote; this and others are None by swap, where nobody counts them."""
    faults: int
    """Page faults that fetched."""
    first_touches: int | None
    """Pages that were touched first, and fetched nothing."""
    adopted: int | None
    """Pages that had been touched before memory became remote."""
    soft_faults: int | None
    """Faults of local pages that CLOCK or LRU had taken out of reach, to see whether they are used."""
    pages_in: int
    pages_out: int
    bytes_in: int
    bytes_out: int
    asked_bytes: int
    """Most bytes that a process asked for; by swap, that all of them had in use."""
    touched_bytes: int
    """Most bytes that a process had in use at a time: what it asked for, and touched."""
    nominal_s: float
    """Waits by latency + size / bandwidth, of all threads."""
    injected_s: float
    """Waits that took place; those of several threads overlap, and count each."""
    own_s: float
    """Time in the handler of faults beyond these waits, without switches to it, compression too; by swap, in
    the device."""
    hides_ns: dict[int, int] = field(default_factory=dict)
    """What waits of so many ns hide of the handler's own time, if all that exchange pages wait so long."""
    trips_s: float | None = None
    """What faults took on their way to the handler and back: as often as there were faults, what some of
    them took. None by swap, where nobody measures it."""
    queued_s: float = 0.0
    """What waits were longer because the link sent pages of other threads."""
    server_s: float = 0.0
    """Waits for a memory server; they are not in the handler's own time."""
    backend: str = "preload"
    """How memory was made remote: preload or swap."""
    compression: Compression | None = None
    """None without `compress`."""
    local_max_bytes: int | None = None
    """Most bytes that were local, seen from time to time; None where it can't be more than asked for."""
    coverage: Coverage | None = None
    """How much of the program's memory could be remote; None by swap, where all of it can."""
    notes: list[str] = field(default_factory=list)
    """What is to be known of these numbers."""
    untraced: str = ""
    """Why there is no trace, where one was asked for."""
    interrupted: bool = False
    """Whether somebody pressed Ctrl-C meanwhile, or asked it to end: the program got the signal too."""

    @property
    def injected_over_nominal(self) -> float | None:
        """How exactly waits were injected; None when there were none."""
        asked = self.nominal_s + self.queued_s
        return self.injected_s / asked if asked else None

    @property
    def fetches_a_page(self) -> float | None:
        """How often a page that was touched was fetched, on average; None when none was touched.

        A hit ratio can't be had: the handler of page faults sees no access to a page that is there.
        """
        touched = (self.adopted or 0) + (self.first_touches or 0)
        return self.faults / touched if touched else None

    @property
    def compression_ratio(self) -> float | None:
        """Bytes before compression over bytes that travelled; None without it, or when nothing travelled."""
        if self.compression is None or not self.bytes_in + self.bytes_out:
            return None
        plain = self.compression.plain_bytes_in + self.compression.plain_bytes_out
        return plain / (self.bytes_in + self.bytes_out)

    @property
    def own_us_a_fault(self) -> float | None:
        """What the handler takes of a fault beyond its wait, in µs; None when there were none."""
        return self._a_fault(self.own_s)

    @property
    def lost_us_a_fault(self) -> float | None:
        """What the program loses to a fault beyond its wait, in µs: in the handler, and on the way."""
        return None if self.trips_s is None else self._a_fault(self.own_s + self.trips_s)

    def _a_fault(self, seconds: float) -> float | None:
        handled = self.faults + (self.first_touches or 0) + (self.soft_faults or 0)
        return seconds / handled * 1e6 if handled else None


def run(
    command: Sequence[str],
    memory: Memory,
    environment: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
) -> Outcome:
    """Runs a command to its end; with a log, what it prints goes there, and it reads nothing.

    The kernel gives it no huge pages. Raises `ScenarioError` for a program that can't have remote memory,
    `RunError` where this machine can't.
    """
    path = programs.find(command[0])
    with Scratch() as scratch:
        folder = scratch.path
        if memory.server:
            # Only this user may enter the folder.
            (folder / _KEY).write_bytes(derive(memory.server.key))
            check(memory.variable(folder))
        else:
            check()
        variables = dict(os.environ if environment is None else environment)
        before = variables.get("LD_PRELOAD")
        variables["LD_PRELOAD"] = f"{LIBRARY}:{before}" if before else str(LIBRARY)
        variables[_VARIABLE] = memory.variable(folder)
        began = time.monotonic()
        with (
            # It may outlive this process, and writes into the folder.
            started(command, path, variables, log, pass_fds=[scratch.lock]) as (process, interrupted),
            Watch(process.pid, lambda pid: _latest(Path(folder), pid)) as watch,
        ):
            code = end_of(process)
        wall = time.monotonic() - began
        files = [file for file in folder.iterdir() if not file.suffix]
        untraced = _keep_trace(files, memory.trace) if memory.trace else ""
        outcome = _outcome(list(command), memory, code, wall, [_numbers(file) for file in files])
        return replace(
            outcome,
            interrupted=interrupted.is_set(),
            coverage=watch.coverage,
            untraced=untraced,
            notes=[*outcome.notes, *_uncounted(files), *(why for file in files if (why := _why(file)))],
            # A process that was killed has not said how much it touched.
            touched_bytes=max(outcome.touched_bytes, watch.governed_most),
        )


def check(wanted: str = "") -> None:
    """Raises `RunError`, with the way out, where no program can have remote memory.

    `wanted` is what a program will be told: a server that it names is asked too.
    """
    if not LIBRARY.exists():
        raise RunError(f"{LIBRARY} is missing: install the package (pip install -e .), which builds it")
    variables = {
        **os.environ,
        "LD_PRELOAD": str(LIBRARY),
        _VARIABLE: f"check,{wanted}" if wanted else "check",
    }
    # The library ends it before anything of it runs.
    tried = subprocess.run(
        [sys.executable], env=variables, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )
    if tried.returncode:
        said = tried.stderr.decode(errors="replace").strip().removeprefix("incast farmem: ")
        raise RunError(said or "the library can't be loaded")


@contextmanager
def started(
    command: Sequence[str],
    path: Path,
    environment: Mapping[str, str] | None,
    log: IO[bytes] | None,
    **more: Any,
) -> Iterator[tuple[subprocess.Popen[bytes], Event]]:
    """The program at `path`, as `run` runs it: leaving waits for its end. What `Popen` is to know is `more`.

    From before it runs, signals that would end this process end the program instead, and set the event. A
    terminal's Ctrl-C reaches the program anyway. A signal that this process ignores stays ignored. Raises
    `RunError` when it can't be started.
    """
    process: subprocess.Popen[bytes] | None = None
    interrupted, early = Event(), list[int]()  # Early ones came before there was a program to get them.

    def pass_on(number: int, frame: FrameType | None) -> None:
        del frame
        interrupted.set()
        if process is None:
            early.append(number)
        elif number != signal.SIGINT or not _in_foreground():
            process.send_signal(number)

    before = {
        number: handler for number in REQUESTS if (handler := signal.getsignal(number)) is not signal.SIG_IGN
    }
    for number in before:
        signal.signal(number, pass_on)
    try:
        with _popen(command, path, environment, log, **more) as process:
            for request in early:
                process.send_signal(request)
            yield process, interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _popen(
    command: Sequence[str],
    path: Path,
    environment: Mapping[str, str] | None,
    log: IO[bytes] | None,
    **more: Any,
) -> subprocess.Popen[bytes]:
    try:
        with hugepages.none():
            return subprocess.Popen(
                command,
                executable=path,
                env=environment,
                stdin=subprocess.DEVNULL if log else None,
                stdout=log,
                stderr=log,
                **more,
            )
    except OSError as error:
        raise RunError(f"{command[0]} can't be started: {error.strerror}") from error
    except subprocess.SubprocessError as error:  # What it does before it runs has failed there.
        raise RunError(f"{command[0]} can't be started: it can't enter its control group") from error


def end_of(process: subprocess.Popen[bytes]) -> int:
    """Its exit code, when it has ended; this thread hears of signals meanwhile."""
    with os.fdopen(os.pidfd_open(process.pid)) as pidfd:
        while not select.select([pidfd], [], [], HEAR_S)[0]:
            pass
    return process.wait()


def _in_foreground() -> bool:
    """Whether a terminal sends its Ctrl-C to this process and the program."""
    try:
        with Path("/dev/tty").open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _keep_trace(files: list[Path], to: Path) -> str:
    """The longest trace, with a record of zeros as its end, whole or not at all; why there is none, if so."""
    numbers = {file: _numbers(file) for file in files}
    cut = {each.get("untraced", _WHOLE) for each in numbers.values()}
    if _TOO_LONG in cut:
        most = "it would be longer than 1GiB, the most that is traced"
        return f"{to}: no trace: {most}: trace a shorter run, or one with a larger --local or --page"
    if _NO_SPACE in cut:
        return f"{to}: no trace: {files[0].parent.parent} had no space for it (TMPDIR names another place)"
    length, file = max(((numbers[file].get("traced_bytes", 0), file) for file in files), default=(0, to))
    if not length and _NO_FILE in cut:
        why = "the program may have another root or user, or a limit of open files or of their sizes"
        return f"{to}: no trace: no file for it could be made in {files[0].parent.parent}: {why}"
    if not length:
        return f"nothing to trace in {to}: all the program asked for fitted into local memory. Give it less"
    trace, part = file.with_suffix(".trace"), to.with_name(f".{to.name}.part")
    # A record may have begun behind the last one that is said to be there.
    for whole in (length, length + _RECORD_BYTES):
        os.truncate(trace, whole)
    try:
        shutil.move(trace, part)
        part.replace(to)
    except OSError as error:
        return f"{to}: {(error.strerror or str(error)).lower()}"
    finally:
        part.unlink(missing_ok=True)
    return ""


def _latest(folder: Path, pid: int) -> Library:
    """Of the program that a process is by now; nothing where the library is not in it."""
    programs = sum(1 for _ in folder.glob(f"{pid}-*[0-9]"))
    try:
        data = (folder / f"{pid}-{programs - 1}").read_bytes() if programs else b""
    except OSError:
        data = b""
    places = struct.iter_unpack("<QQ", data[2 * _NAMES : 3 * _NAMES])
    return Library(_counted(data), [range(start, start + count) for start, count in places if count])


def _numbers(file: Path) -> dict[str, int]:
    """Of one process; nothing of one that ended before it had any."""
    return _counted(file.read_bytes())


def _uncounted(files: list[Path]) -> list[str]:
    """That figures lack what some processes did."""
    without = sum(not _numbers(file) for file in files)
    if not without:
        return []
    processes = plural(without, "process has", "processes have")
    return [f"{processes} no numbers: too short a life, or no space in {files[0].parent.parent}"]


def _why(file: Path) -> str | None:
    """Why the library ended a process that could not say so itself."""
    text = file.read_bytes()[3 * _NAMES :].rstrip(b"\0").decode(errors="replace")
    return f"Process {file.name.partition('-')[0]} was ended: {text}" if text else None


def _counted(data: bytes) -> dict[str, int]:
    names = data[:_NAMES].rstrip(b"\0").decode().split()
    if len(data) < _NAMES + 8 * len(names):
        return {}
    return dict(zip(names, struct.unpack_from(f"<{len(names)}Q", data, _NAMES), strict=True))


def _outcome(
    command: list[str], memory: Memory, code: int, wall: float, processes: list[dict[str, int]]
) -> Outcome:
    def total(name: str) -> int:
        return sum(numbers.get(name, 0) for numbers in processes)

    compression = memory.compress and Compression(
        codec=memory.compress,
        plain_bytes_in=total("pages_in") * memory.page,
        plain_bytes_out=total("pages_out") * memory.page,
        compressed_pages=total("packed"),
        compress_s=total("pack_ns") / 1e9,
        decompressed_pages=total("unpacked"),
        decompress_s=total("unpack_ns") / 1e9,
    )

    return Outcome(
        command=command,
        exit_code=code if code >= 0 else 128 - code,
        wall_s=wall,
        processes=total("remote"),
        faults=total("faults"),
        first_touches=total("first_touches"),
        adopted=total("adopted"),
        soft_faults=total("soft_faults"),
        pages_in=total("pages_in"),
        pages_out=total("pages_out"),
        bytes_in=total("bytes_in"),
        bytes_out=total("bytes_out"),
        asked_bytes=max((numbers.get("asked_bytes", 0) for numbers in processes), default=0),
        touched_bytes=max((numbers.get("touched_bytes", 0) for numbers in processes), default=0),
        nominal_s=total("nominal_ps") / 1e12,
        injected_s=total("injected_ps") / 1e12,
        trips_s=total("trips_ns") / 1e9,
        queued_s=total("queued_ps") / 1e12,
        own_s=(total("own_ns") - total("server_ns")) / 1e9,
        hides_ns={wait: total(f"hides_{wait}") for wait in _WAITS_NS},
        server_s=total("server_ns") / 1e9,
        compression=compression or None,
    )
