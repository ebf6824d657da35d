"""`python -m benches.broadcast [--cases WORD] [--programs NAME,…]`: rows of bench/results.jsonl.

How long plans take (`--cases planning`: only that); a source and eight receivers around a switch, one
receiver at a tenth of the others' rate; then one receiver on the loopback interface. Each case of transfers
first measures the bound: one TCP transfer alone to a fast receiver, and one to the slow one. Needs root for
network namespaces. As people type it comes first: nothing is said of rates.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from testkit import namespaces

from benches.broadcast import loopback, ours, peers, planning
from benches.broadcast.course import MEGA, Case, Outcome, Program, mean, once
from benches.broadcast.rows import Row, keep, row

MEBIBYTE = 2**20
KILLED_AT = 0.4
LOOPBACK = "one receiver on loopback"
#: The key of our own program among the others.
OURS = "ours"
PROGRAMS = {OURS: ours.broadcast, **peers.PEERS}

#: Share of the bound that each fast receiver is to have. A short file whose rates must be measured gets less.
SHARE = 0.95
SHARE_SHORT = 0.9
SHORT = 64 * MEBIBYTE
#: Of a bare loop whose receiver writes a file.
OF_SENDFILE = 0.8

#: How often: the run of median times counts.
_TYPED = Case(30_000_000, 0, receivers=8, slow="h8", others=(("h7", 10_000_000),), typed=True)
CASES = {
    replace(_TYPED, size=12 * MEBIBYTE): 1,
    replace(_TYPED, size=72 * MEBIBYTE): 1,
    Case(20_000_000, 16 * MEBIBYTE): 1,
    Case(20_000_000, 16 * MEBIBYTE, KILLED_AT): 1,
    Case(200_000_000, 16 * MEBIBYTE): 3,
    Case(200_000_000, 128 * MEBIBYTE): 1,
    Case(200_000_000, 128 * MEBIBYTE, KILLED_AT): 1,
}


@dataclass(frozen=True)
class Bound:
    """Seconds that a transfer takes alone, over a fast and over the slow link."""

    fast_s: float
    slow_s: float


def content(folder: Path, size: int) -> Path:
    """A file that nothing can compress."""
    file = folder / f"content-{size}"
    if not file.exists():
        file.write_bytes(os.urandom(size))
    return file


def bound(case: Case, folder: Path) -> Bound:
    """Plain TCP from the source to one receiver, with no other receivers."""
    alone = replace(case, killed_at=None)
    file = content(folder, case.size)
    program = peers.plain("flat", "alone")

    def seconds(host: str) -> float:
        took = once(program, alone, file, folder / "run", host).times[host]
        assert took is not None
        return took

    return Bound(seconds("h1"), seconds(case.slow))


def median(outcomes: list[Outcome], case: Case) -> Outcome:
    """The median run by the fast receivers' mean times; runs that leave a receiver out come last."""
    return sorted(outcomes, key=lambda outcome: mean(outcome.fast(case)) or float("inf"))[len(outcomes) // 2]


def figures(case: Case, outcome: Outcome, alone: Bound) -> Iterator[tuple[str, str, float | None]]:
    """Metric, unit, value; None for what never happened."""
    fast = outcome.fast(case)
    everybody = all(fast)
    times = [value for value in fast if value]
    yield "fast receivers, mean", "s", mean(fast)
    yield "fast receivers, first", "s", min(times, default=None)
    yield "fast receivers, last", "s", max(times) if everybody else None
    yield "fast receivers that have it", "1", len(times)
    yield "share of the bound, fast receiver, least", "1", alone.fast_s / max(times) if everybody else None
    slow = outcome.times[case.slow]
    yield "slow receiver", "s", slow
    yield "share of the bound, slow receiver", "1", alone.slow_s / slow if slow else None
    yield "aggregate", "Mb/s", outcome.aggregate_bps(case) / MEGA
    yield "sent by the source, times the file", "1", outcome.source_bytes / case.size
    yield "whole command", "s", outcome.whole_s
    for host, value in outcome.times.items():
        if not (case.killed_at and host == case.victim):
            yield f"{host} has it", "s", value


def compared(case: Case, programs: list[tuple[str, Program]], folder: Path, times: int) -> Iterator[Row]:
    """All programs, one after the other; ours comes first."""
    alone = bound(case, folder)
    print(f"\n{case.name}: alone {alone.fast_s:.2f} s, slow one alone {alone.slow_s:.2f} s", flush=True)
    own: dict[str, float | None] = {}
    yield row(case.name, "fast receivers, mean", "s", None, ("one TCP transfer alone", alone.fast_s))
    yield row(case.name, "slow receiver", "s", None, ("one TCP transfer alone", alone.slow_s))
    for key, program in programs:
        runs = [once(program, case, content(folder, case.size), folder / "run") for _ in range(times)]
        outcome = median(runs, case)
        print(text(program.name, case, outcome, alone), flush=True)
        for metric, unit, value in figures(case, outcome, alone):
            if key == OURS:
                own[metric] = value
                yield row(case.name, metric, unit, value, None, target(case, metric, value))
            else:
                yield row(case.name, metric, unit, own.get(metric), (program.name, value))


def on_loopback(folder: Path) -> Iterator[Row]:
    """Rates without a limit, encrypted as by default and plain."""
    case = f"{LOOPBACK}, {loopback.SIZE // MEBIBYTE} MiB"
    print(f"\n{case}", flush=True)
    measured = dict(loopback.rates(content(folder, loopback.SIZE), folder))
    for own in loopback.OURS:
        rate = measured.pop(own)
        print(f"{own:36} {rate:.2f} Gb/s")
        for name in loopback.SINKS:
            bare = measured[name]
            print(f"    {rate / bare:.2f} of {name}, {bare:.2f} Gb/s", flush=True)
            aim = (OF_SENDFILE, rate >= OF_SENDFILE * bare) if name == loopback.WRITES else None
            yield row(case, own, "Gb/s", rate, (name, bare), aim)


def plans() -> Iterator[Row]:
    """How long planning takes."""
    for case, took, most in planning.seconds():
        print(f"{case:48} {took:.3f} s", flush=True)
        yield row(case, "processor time", "s", took, None, (most, took <= most) if most else None)


def target(case: Case, metric: str, value: float | None) -> tuple[float, bool] | None:
    """Of the issue that asked for broadcasts."""
    if metric != "share of the bound, fast receiver, least":
        return None
    share = SHARE_SHORT if case.typed and case.size < SHORT else SHARE
    return share, value is not None and value >= share


def text(name: str, case: Case, outcome: Outcome, alone: Bound) -> str:
    """For the terminal."""
    values = {metric: value for metric, _, value in figures(case, outcome, alone)}

    def of(metric: str) -> str:
        value = values[metric]
        return "never" if value is None else f"{value:.2f}"

    line = f"{name:32} fast {of('fast receivers, mean'):>6} s ({of('fast receivers, first')} to "
    line += (
        f"{of('fast receivers, last')}), least share {of('share of the bound, fast receiver, least'):>5}, "
    )
    line += f"slow {of('slow receiver'):>6} s, aggregate {of('aggregate'):>7} Mb/s"
    return line if all(outcome.times.values()) else f"{line}\n    {outcome.said[:600]}"


def main() -> None:
    """Measures, prints and keeps."""
    parser = argparse.ArgumentParser(description="Broadcasts compared with other programs.")
    parser.add_argument("--cases", default="", help="only cases whose name holds this text")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="which")
    options = parser.parse_args()
    if options.cases in planning.CASE:
        keep(plans())
    if options.cases == planning.CASE:
        return
    if reason := namespaces.unavailable():
        print(f"broadcasts are left out: {reason}")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    programs = list(peers.available(PROGRAMS, options.programs.split(",")))
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as home:
        folder = Path(home)
        for case, times in CASES.items():
            if options.cases in case.name:
                keep(compared(case, programs, folder, times))
        if options.cases in LOOPBACK:
            keep(on_loopback(folder))


if __name__ == "__main__":
    main()
