"""Processes of this machine, as /proc shows them: proc(5)."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path


def children(pid: int) -> list[int]:
    """The processes that a process started itself and that still run."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                # After the name, which may hold anything: state, parent.
                if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                    found.append(int(folder.name))
    return found


def peak_memory(pid: int) -> int:
    """Peak resident memory so far in KiB. `ru_maxrss` would count what this interpreter held at the fork."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s*(\d+) kB", text)
    return int(found[1]) if found else 0
