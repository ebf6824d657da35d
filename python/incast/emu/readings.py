"""Numbers that programs print: what a job says is read from its output.

A time is in picoseconds and a rate in bits per second, as everywhere in results.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from incast.bounded import read_end, read_json
from incast.folder import RESOLVED

UNITS = {
    "s": ("_ps", 1e12),
    "ms": ("_ps", 1e9),
    "us": ("_ps", 1e6),
    "ns": ("_ps", 1e3),
    "bps": ("_bps", 1.0),
    "kbps": ("_bps", 1e3),
    "Mbps": ("_bps", 1e6),
    "Gbps": ("_bps", 1e9),
    "1": ("", 1.0),
}
"""The suffix of a figure and what a number is multiplied by."""
_OUTPUT_MAX = 64 << 20
_LINE_MAX = 65_536


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, which has one group; ValueError says what is wrong with it."""
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    if found.groups != 1:
        raise ValueError(f"{pattern!r} has {found.groups} groups: one is needed, around the number")
    return found


def of_run(folder: Path) -> dict[str, tuple[str, list[float]]]:
    """Of each job of the run that reads its output: the figures' suffix, and all numbers in base units."""
    found = {}
    for job in read_json(folder / RESOLVED)["jobs"]:
        work = job["work"]
        if reading := work.get("read"):
            suffix, factor = UNITS[reading["unit"]]
            outputs = (folder / "guests" / host / f"{job['name']}.out" for host in work["hosts"])
            numbers = [factor * number for place in outputs for number in _numbers(place, reading)]
            found[job["name"]] = (suffix, numbers)
    return found


def _numbers(output: Path, reading: Mapping[str, Any]) -> Iterator[float]:
    pattern = compiled(reading["pattern"])
    try:
        text = read_end(output, _OUTPUT_MAX).decode("utf-8", "replace")
    except FileNotFoundError:
        return  # It never began.
    for line in text.splitlines():
        for match in pattern.finditer(line[:_LINE_MAX]):
            try:
                number = float(match[1])
            except (ValueError, TypeError):
                continue
            if math.isfinite(number):
                yield number
