"""A swap device in memory: Documentation/admin-guide/blockdev/zram.rst, swapon(8).

It gets the highest priority, so that the program's pages go there and nowhere else.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from incast.errors import RunError

_CONTROL = Path("/sys/class/zram-control")
_ZSWAP = Path("/sys/module/zswap/parameters/enabled")
_HIGHEST = 32767
"""Of all priorities: `SWAP_FLAG_PRIO_MASK`."""
_COMMANDS = {"mkswap": "util-linux", "swapon": "util-linux", "swapoff": "util-linux", "dd": "coreutils"}
"""And what has them."""
_PATIENCE_S = 5.0
"""How long others may look at the device (udev does) before it can be removed."""
CLUSTER = Path("/proc/sys/vm/page-cluster")
"""How many pages the kernel reads at a time; a power of two."""


def check(version: int) -> None:
    """Raises `RunError` where there can be no such device, next to control groups of this version."""
    if not _CONTROL.exists():
        raise RunError(
            "--backend swap needs zram, a swap device in memory, and this kernel has none: modprobe zram, or "
            "a kernel built with CONFIG_ZRAM"
        )
    for command, package in _COMMANDS.items():
        if not shutil.which(command):
            raise RunError(f"--backend swap needs {command}, which is not here: {package} has it")
    if version == 1 and _ZSWAP.exists() and _ZSWAP.read_text().strip() == "Y":
        raise RunError(
            f"zswap would answer in the swap device's place: echo 0 > {_ZSWAP}, for the time being"
        )


def alone() -> None:
    """Raises `RunError` where pages would go to another device too."""
    for device, priority in _swaps().items():
        if priority == _HIGHEST:
            raise RunError(
                f"{device} swaps with the highest priority, so pages would go there too: swapoff it, or "
                "give it another priority, until the program has ended"
            )


@dataclass(frozen=True, slots=True)
class Device:
    """A zram device of ours."""

    number: int
    bytes: int
    """Its size, by which it is known again."""

    @property
    def path(self) -> Path:
        """Its node."""
        return Path(f"/dev/zram{self.number}")

    @classmethod
    def add(cls) -> Device:
        """A new one, as large as the memory that is free; it takes none before pages come."""
        number = int((_CONTROL / "hot_add").read_text())
        [free] = [
            line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable")
        ]
        return cls(number, int(free.split()[1]) * 1024)

    def swap(self) -> None:
        """Makes it swap. Raises `RunError` when that fails."""
        self._attribute("disksize").write_text(str(self.bytes))
        _call("mkswap", str(self.path))
        _call("swapon", "--priority", str(_HIGHEST), str(self.path))

    def numbers(self) -> tuple[int, int]:
        """Major and minor."""
        major, minor = self._attribute("dev").read_text().split(":")
        return int(major), int(minor)

    def remove(self) -> None:
        """Takes it away, if it is ours and there. Raises `RunError` when what is on it fits nowhere else."""
        size = self._attribute("disksize")
        if not size.exists() or int(size.read_text()) not in (0, self.bytes):
            return
        if str(self.path) in _swaps():
            _call("swapoff", str(self.path))
        until = time.monotonic() + _PATIENCE_S
        while True:
            try:
                (_CONTROL / "hot_remove").write_text(str(self.number))
            except OSError as error:
                if time.monotonic() > until:
                    raise RunError(f"{self.path} can't be removed: {error.strerror}") from error
                time.sleep(0.02)
            else:
                return

    def _attribute(self, name: str) -> Path:
        return Path(f"/sys/block/zram{self.number}/{name}")


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        said = done.stderr.strip().removeprefix(f"{command[0]}: ") or f"exit code {done.returncode}"
        raise RunError(f"{command[0]} failed: {said}")


def _swaps() -> dict[str, int]:
    """Devices that swap, and their priorities."""
    lines = [line.split() for line in Path("/proc/swaps").read_text().splitlines()[1:]]
    return {words[0]: int(words[-1]) for words in lines}
