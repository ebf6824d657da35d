"""A control group with a limit of memory: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst.

It lies within the group of the process that starts it, or next to that where version 2 wants it: limits above
hold for it as well.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from incast.errors import RunError

_PATIENCE_S = 10.0
"""How long the kernel may take to end killed processes."""


@dataclass(frozen=True, slots=True)
class Use:
    """Bytes that a group has."""

    all: int
    """Whatever is charged to it: the program's memory, its files' pages, what the kernel keeps for it."""
    local: int
    """Anonymous and shared memory that is not swapped."""
    swapped: int


@dataclass(frozen=True, slots=True)
class Group:
    """A group that need not exist yet."""

    path: Path
    version: int

    def create(self, limit: int) -> None:
        """Makes it; short of room the kernel takes memory, and pages of files only if all else is gone."""
        try:
            self.path.mkdir()
        except OSError as error:
            raise RunError(
                f"{self.path} can't be made: {error.strerror}; a writable cgroup mount is needed"
            ) from error
        self.limit(limit)
        if self.version == 1:
            self._write("memory.swappiness", "200")
        elif (self.path / "memory.zswap.max").exists():
            # A cache before the swap device would answer without delay.
            self._write("memory.zswap.max", "0")

    def limit(self, limit: int) -> bool:
        """Whether the kernel could keep it to so many bytes."""
        try:
            self._write("memory.limit_in_bytes" if self.version == 1 else "memory.max", str(limit))
        except OSError:
            return False
        return True

    def enter(self) -> None:
        """Takes the calling process in."""
        self._write("cgroup.procs", "0")

    def use(self) -> Use:
        """What it has now."""
        stat = _numbers(self.path / "memory.stat")
        if self.version == 1:
            used, mapped, swapped = "memory.usage_in_bytes", stat["rss"], stat.get("swap", 0)
        else:
            used, mapped = "memory.current", stat["anon"]
            swapped = int((self.path / "memory.swap.current").read_text())
        # Pages come to the lists a little later than to a process, and stay there when it has gone.
        listed = stat["active_anon"] + stat["inactive_anon"]
        return Use(int((self.path / used).read_text()), max(mapped + stat["shmem"], listed), swapped)

    def killed(self) -> int:
        """How many processes the kernel ended for want of memory."""
        file = "memory.oom_control" if self.version == 1 else "memory.events"
        return _numbers(self.path / file).get("oom_kill", 0)

    def remove(self) -> None:
        """Ends what runs in it, and the group. Raises OSError where something won't end."""
        until = time.monotonic() + _PATIENCE_S
        while self.path.exists():
            for pid in (self.path / "cgroup.procs").read_text().split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    continue
            try:
                self.path.rmdir()
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.005)

    def _write(self, file: str, text: str) -> None:
        with (self.path / file).open("w") as opened:
            opened.write(text)


def for_programs(name: str, mounts: str | None = None, groups: str | None = None) -> Group:
    """The group of this name for programs of this process. Raises `RunError` where memory can't be limited.

    Mounts are /proc/self/mountinfo's lines, groups /proc/self/cgroup's.
    """
    mounted = [line.split() for line in (mounts or Path("/proc/self/mountinfo").read_text()).splitlines()]
    named = [
        line.split(":", 2) for line in (groups or Path("/proc/self/cgroup").read_text()).splitlines() if line
    ]
    for words in mounted:
        kind, options = words[words.index("-") + 1], words[-1].split(",")
        if kind == "cgroup" and "memory" in options:
            [path] = [path for _, controllers, path in named if "memory" in controllers.split(",")]
            return Group(_place(words, path) / name, 1)
    for words in mounted:
        if words[words.index("-") + 1] == "cgroup2":
            [path] = [path for _, controllers, path in named if not controllers]
            above = _dividing(_place(words, path), Path(words[4]))
            if above:
                return Group(above / name, 2)
    raise RunError(
        "--backend swap limits memory by control groups, and none may limit it here: mount cgroup2 at "
        "/sys/fs/cgroup and 'echo +memory > /sys/fs/cgroup/cgroup.subtree_control', or start incast by "
        "systemd-run --scope -p MemoryAccounting=yes"
    )


def _place(mount: list[str], path: str) -> Path:
    """Where a group's folder is: a mount shows what is below its root."""
    root, point = mount[3], Path(mount[4])
    inside = os.path.relpath(path, root)
    return point if inside.startswith("..") else point / inside


def _dividing(folder: Path, top: Path) -> Path | None:
    """The nearest group whose groups have limits of memory: one with processes has none, but the top."""
    for above in (folder, *folder.parents):
        control = above / "cgroup.subtree_control"
        if control.exists() and "memory" in control.read_text().split():
            return above
        if above == top:
            break
    return None


def _numbers(file: Path) -> dict[str, int]:
    return {name: int(number) for name, number in map(str.split, file.read_text().splitlines())}
