"""What one run of a program costs: CPU time, peak memory, instructions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testkit.processes import children, peak_memory

#: Seconds between two samples of a program's memory.
LOOK = 0.002
#: The same where its children are looked for, which takes longer.
LOOK_BELOW = 0.02


@dataclass(frozen=True)
class Cost:
    """Of one process, start-up included."""

    cpu_s: float
    """Also that of processes that it started and waited for."""
    rss_kib: int
    output: dict[str, Any]
    below_kib: tuple[int, ...] = ()
    """Of the processes that it started, where they were asked for."""


def run(command: list[str], *, below: bool = False) -> Cost:
    """Runs a command that prints JSON; `below`: with the memory of each process that it starts."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        peak = 0
        peaks: dict[int, int] = {}
        while True:
            peak = max(peak, peak_memory(process.pid))
            for child in children(process.pid) if below else ():
                peaks[child] = max(peaks.get(child, 0), peak_memory(child))
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(LOOK_BELOW if below else LOOK)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
        out.seek(0)
        text = out.read()
    return Cost(usage.ru_utime + usage.ru_stime, peak, json.loads(text), tuple(peaks.values()))


def have_callgrind() -> bool:
    """Whether instructions can be counted."""
    return shutil.which("valgrind") is not None


def instructions(command: list[str]) -> tuple[int, dict[str, Any]]:
    """Instructions that a command executes, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        tool = ["valgrind", "--tool=callgrind", f"--log-file={log}"]
        tool.append(f"--callgrind-out-file={folder}/out")
        done = subprocess.run(tool + command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)} under callgrind: {done.stderr.strip()}")
        collected = re.search(r"Collected\s*:\s*(\d+)", log.read_text())
    if collected is None:
        raise RuntimeError("callgrind did not say how many instructions it counted")
    return int(collected[1]), json.loads(done.stdout)
