"""Runs a program whose memory the kernel swaps, at the pace of remote memory."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import IO

from incast._core import BlockDelay
from incast.errors import RunError
from incast.farmem import program as programs
from incast.farmem.run import Memory, Outcome, end_of, started
from incast.farmem.swap import device as devices
from incast.farmem.swap.changes import Changes, undone
from incast.farmem.swap.device import CLUSTER, Device
from incast.farmem.swap.group import Group, for_programs
from incast.farmem.swap.held import page
from incast.farmem.swap.local import ROOM, Keeper

LEAST_PAGES = 1024
"""Least pages of local memory: the kernel gives pages out and takes them back by the hundred."""
PAGE = 4096
_NOTES = (
    "one local memory for all processes of the program, and shared memory is in it",
    "every page that leaves is written back, changed or not; pages of zeros never travel",
    "while it runs, other programs' pages that the kernel swaps are counted and wait as well",
)


def run(
    command: Sequence[str],
    memory: Memory,
    environment: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
) -> Outcome:
    """Runs a command to its end, as `incast.farmem.run.run` does.

    Raises `ScenarioError` for a program that isn't there, `RunError` where this machine can't.
    """
    path = programs.located(command[0])
    group = check()
    with undone() as changes, page(_prepare(changes, group, memory), group) as device:
        delay = _delay(device, memory)
        keeper = Keeper(group, memory.local)
        began = time.monotonic()
        with (
            started(command, path, environment, log, preexec_fn=group.enter) as (process, interrupted),
            keeper.kept(),
        ):
            code = end_of(process)
        wall = time.monotonic() - began
        counters = delay.counters()
        delay.end()
        outcome = _outcome(list(command), code, wall, counters, keeper, group.killed())
        return replace(outcome, interrupted=interrupted.is_set())


def check() -> Group:
    """The group that a program would be in. Raises `RunError`, with the way out, where there can be none."""
    if os.geteuid() != 0:
        raise RunError(
            "--backend swap changes the machine's swapping, which takes root: sudo incast …, or --backend "
            "preload for programs that are linked dynamically"
        )
    group = for_programs(f"incast-farmem-{os.getpid()}")
    devices.check(group.version)
    return group


def _prepare(changes: Changes, group: Group, memory: Memory) -> Device:
    """Group and device; whatever is made is noted."""
    devices.alone()
    changes.group = group
    changes.cluster = CLUSTER.read_text().strip()
    changes.note()
    group.create(memory.local + ROOM)
    changes.device = Device.add()
    changes.note()
    changes.device.swap()
    # A page a request: the kernel would read its neighbours too.
    CLUSTER.write_text("0")
    return changes.device


def _delay(device: Device, memory: Memory) -> BlockDelay:
    """The waits of its requests."""
    try:
        return BlockDelay(*device.numbers(), memory.latency_ps, memory.rate_bps)
    except OSError as error:
        raise RunError(f"--backend swap: {error}") from error


def _outcome(
    command: list[str],
    code: int,
    wall: float,
    counters: list[tuple[int, int, int, int, int, int]],
    keeper: Keeper,
    killed: int,
) -> Outcome:
    (reads, pages_in, *_), (_, pages_out, *_) = counters
    notes = list(_NOTES)
    if killed:
        notes.append(
            f"the kernel ended {killed} of its processes for want of memory: more --local, or memory that "
            "isn't locked (mlock)"
        )
    return Outcome(
        command=command,
        exit_code=code if code >= 0 else 128 - code,
        wall_s=wall,
        processes=None,
        faults=reads,
        first_touches=None,
        adopted=None,
        soft_faults=None,
        pages_in=pages_in,
        pages_out=pages_out,
        bytes_in=pages_in * PAGE,
        bytes_out=pages_out * PAGE,
        asked_bytes=keeper.used,
        touched_bytes=keeper.used,
        nominal_s=sum(way[2] for way in counters) / 1e12,
        injected_s=sum(way[3] for way in counters) / 1e9,
        # Of a few the end isn't seen, where two threads' came together.
        own_s=sum(own * requests / done for requests, _, _, _, done, own in counters if done) / 1e9,
        backend="swap",
        local_max_bytes=keeper.local,
        notes=notes,
    )
