"""How much of a program's memory may be remote, and what the rest is: proc_pid_smaps(5), seen from outside.

The processes of a program are looked at from time to time while they run. What the library in them governs
is known by its addresses; all else that is resident is not governed: files and code, stacks, data of
the program and its libraries, and anonymous memory that was asked for in ways that the library does not see.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self

from incast.scratch import PREFIX

__all__ = ["KINDS", "SHARE_MAX", "Coverage", "Watch"]

SHARE_MAX = 0.1
"""What is not governed may be so large a share; beyond that, a result says so first."""
KINDS = {
    "files": "files and code",
    "data": "data of the program and its libraries",
    "stacks": "stacks",
    "code": "memory that has to stay, as code is run from it",
    "shared": "shared memory",
    "library": "what the C library allocates for itself",
    "anonymous": "other anonymous memory",
}
"""What memory is that is not governed, in words."""
_FIRST_S, _MOST_S = 0.002, 0.1
"""Between two looks at first, and later."""
_PART = 20
"""A look may take so small a part of the time."""
_BEHIND = 1 << 20
"""Bytes that may be here twice for a while."""
_MAPPING = re.compile(
    rb"^([0-9a-f]+)-([0-9a-f]+) (\S{4}) \S+ \S+ (\d+) *(.*)\n"
    rb"(?:Size:.*\n)(?:(?!Rss:).*\n)*Rss: +(\d+) kB\n(?:(?!Anonymous:).*\n)*Anonymous: +(\d+) kB",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was seen of a program's memory."""

    samples: int = 0
    """How often all of its processes were looked at; nothing is known without one."""
    resident_bytes: int = 0
    """Of all processes, when that was most; what is remote is in it, as if it were local."""
    governed_bytes: int = 0
    """Of that, what may be remote."""
    others_bytes: dict[str, int] = field(default_factory=dict)
    """Of that, what may not, by kind."""
    mean_share: float | None = None
    """The share that is not governed, of all bytes, weighted with the time they were there."""

    @property
    def share(self) -> float | None:
        """The share that is not governed, when most was resident; None where nothing was seen."""
        return 1 - self.governed_bytes / self.resident_bytes if self.resident_bytes else None

    @property
    def worst_share(self) -> float | None:
        """The larger one of both shares."""
        known = [each for each in (self.share, self.mean_share) if each is not None]
        return max(known, default=None)

    @property
    def covers(self) -> bool:
        """Whether what is not governed is known, and small."""
        return self.worst_share is not None and self.worst_share <= SHARE_MAX


@dataclass(frozen=True, slots=True)
class Library:
    """What the library in a process says; nothing of a process without it."""

    numbers: dict[str, int] = field(default_factory=dict)
    places: list[range] = field(default_factory=list)
    """Addresses of the program's memory outside of the library's range: bss, and mappings at places of the
    program's choice."""


@dataclass(slots=True)
class _Seen:
    """Of one look, in bytes."""

    governed: int = 0
    others: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    @property
    def all(self) -> int:
        return self.governed + sum(self.others.values())


class Watch:
    """Looks at a program's processes from time to time, in a thread, as long as the block runs."""

    def __init__(self, pid: int, library: Callable[[int], Library]) -> None:
        """`library` is what the library in a process says."""
        self._pid, self._library = pid, library
        self._ended = Event()
        self._thread = Thread(target=self._run, name="coverage", daemon=True)
        self._samples, self._most = 0, _Seen()
        self._others_s = self._all_s = 0.0
        self.governed_most = 0
        """Most bytes of one process that were governed and resident."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def coverage(self) -> Coverage:
        """What was seen so far."""
        return Coverage(
            self._samples,
            self._most.all,
            self._most.governed,
            {kind: count for kind, count in self._most.others.items() if count},
            self._others_s / self._all_s if self._all_s else None,
        )

    def _run(self) -> None:
        pause, before = _FIRST_S, time.monotonic()
        while not self._ended.wait(pause):
            began = time.monotonic()
            seen = self._look()
            took = time.monotonic() - began
            if seen.all:
                self._samples += 1
                self._others_s += sum(seen.others.values()) * (began - before)
                self._all_s += seen.all * (began - before)
                if seen.all >= self._most.all:
                    self._most = seen
            before = began
            pause = max(min(2 * pause, _MOST_S), _PART * took)

    def _look(self) -> _Seen:
        seen = _Seen()
        for pid in _tree(self._pid):
            # Memory may be given back while the kernel is asked: what was in use before may still be there.
            before = self._library(pid).numbers.get("in_use_bytes", 0)
            try:
                smaps = Path(f"/proc/{pid}/smaps").read_bytes()
            except OSError:
                continue
            governed = seen.governed
            _add(smaps, self._library(pid), seen, before)
            self.governed_most = max(self.governed_most, seen.governed - governed)
        return seen


def _tree(pid: int) -> list[int]:
    """A process and all that come from it."""
    found = [pid]
    for each in found:
        with suppress(OSError):  # it has ended meanwhile
            for task in Path(f"/proc/{each}/task").iterdir():
                with suppress(OSError):
                    found += map(int, (task / "children").read_text().split())
    return found


@dataclass(frozen=True, slots=True)
class _Mapping:
    """A mapping as smaps has it, in bytes."""

    start: int
    end: int
    how: bytes
    """Permissions, and whether it is private."""
    is_file: bool
    name: bytes
    resident: int
    anonymous: int


def _mappings(smaps: bytes) -> Iterator[tuple[_Mapping, bytes]]:
    """All of them, each with what it follows: a guard page, data of a file, or nothing of these."""
    guarded, data_end = 0, 0
    for start_, end_, how, inode, name, resident, anonymous in _MAPPING.findall(smaps):
        start, end = int(start_, 16), int(end_, 16)
        follows = b"guard" if start == guarded else b"data" if start == data_end else b""
        guarded = end if how == b"---p" else guarded
        data_end = end if inode != b"0" else data_end
        found = _Mapping(start, end, how, inode != b"0", name, int(resident) * 1024, int(anonymous) * 1024)
        yield found, follows


def _add(smaps: bytes, library: Library, seen: _Seen, in_use_before: int) -> None:
    """A process's mappings, and the bytes that were in use just before they were looked at."""
    numbers = library.numbers
    memory = numbers.get("memory_at", 0)
    mirror = memory + numbers.get("memory_bytes", 0)
    beside = mirror + numbers.get("beside_bytes", 0)
    private = numbers.get("private_at", 0)
    private_end = private + numbers.get("private_bytes", 0)
    here, away, kept = 0, 0, 0
    for each, follows in _mappings(smaps):
        plain = not each.is_file and each.how[3:] == b"p" and b"x" not in each.how
        if plain and memory <= each.start < mirror:
            here += each.resident
        elif plain and (inside := _inside(each, library.places)):
            here += inside
            seen.others[_kind(each, follows)] += each.resident - inside
        elif mirror <= each.start < beside:
            away += each.resident
        elif private <= each.start < private_end:
            kept += each.resident
        elif PREFIX.encode() not in each.name:
            seen.others[_kind(each, follows)] += each.resident
            if each.is_file and each.how[3:] == b"p":
                # Pages of its own, which it has written to.
                seen.others["files"] -= each.anonymous
                seen.others["data"] += each.anonymous
    seen.others["library"] += max(0, kept - numbers.get("library_bytes", 0))
    if not numbers.get("remote"):
        seen.governed += here
        return
    # Once memory is remote the library knows what is in use, here and there; more than that can't leave.
    governed = numbers.get("in_use_bytes", 0)
    seen.governed += governed
    pinned = here + away - max(governed, in_use_before)
    seen.others["code"] += pinned if pinned > _BEHIND else 0


def _inside(mapping: _Mapping, places: list[range]) -> int:
    """Resident bytes of a mapping that lie in places; its pages are taken to be spread evenly."""
    addresses = range(mapping.start, mapping.end)
    overlaps = (min(addresses.stop, each.stop) - max(addresses.start, each.start) for each in places)
    return mapping.resident * sum(each for each in overlaps if each > 0) // len(addresses)


def _kind(mapping: _Mapping, follows: bytes) -> str:
    """What a mapping is that the library does not govern."""
    if mapping.name == b"[stack]" or (follows == b"guard" and not mapping.name and mapping.how == b"rw-p"):
        return "stacks"
    if mapping.how[3:] == b"s":
        return "shared"
    if mapping.is_file or mapping.name in (b"[vvar]", b"[vdso]"):
        return "files"
    if b"x" in mapping.how:
        return "code"
    return "data" if follows == b"data" else "anonymous"
