"""`incast farmem run`: a program whose memory lies at a distance."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from incast.cli import farmem_coverage as covered
from incast.cli import farmem_options as shared
from incast.cli import show
from incast.cli.common import ForceFile, Json, told
from incast.cli.exits import Exit
from incast.cli.terminal import SafeConsole
from incast.errors import RunError
from incast.farmem import options
from incast.farmem.coverage import Coverage
from incast.farmem.run import ALL, LEAST_PAGES, Memory, Outcome
from incast.farmem.run import run as run_preloaded
from incast.farmem.server import MemoryServer
from incast.farmem.size import Size
from incast.farmem.swap.run import LEAST_PAGES as SWAP_LEAST_PAGES
from incast.farmem.swap.run import PAGE as SWAP_PAGE
from incast.farmem.swap.run import run as run_swapped
from incast.folder import free
from incast.quantity import format_bytes


class Backend(StrEnum):
    """How memory is kept away from a program."""

    PRELOAD = "preload"
    SWAP = "swap"


_RUN = {Backend.PRELOAD: run_preloaded, Backend.SWAP: run_swapped}


def run(
    program: shared.Program,
    local: Annotated[
        str, shared.of("Local memory of each process: 200MB, or 50% of its peak memory in use.", "SIZE")
    ],
    latency: Annotated[
        str | None,
        shared.of("Wait of a request to remote memory, like 10us; needed without --server.", "TIME"),
    ] = None,
    bandwidth: Annotated[
        str | None, shared.of("Rate at which a page is sent, like 40Gbps; needed without --server.", "RATE")
    ] = None,
    page: shared.Page = "4KiB",
    read_ahead: shared.ReadAhead = 0,
    pages_a_request: shared.PagesARequest = 1,
    policy: shared.Policy = "fifo",
    compress: shared.Compress = None,
    server: shared.ServerAt = None,
    key_file: shared.KeyFile = None,
    timeout: shared.Timeout = "10s",
    trace: Annotated[
        Path | None,
        shared.of(
            "Write a trace of the faults, for predict: of the process with the most, without forks.",
            "FILE",
        ),
    ] = None,
    force: ForceFile = False,
    backend: Annotated[
        Backend,
        typer.Option(
            metavar="preload|swap", help="A library in the program, or the kernel's swapping, as root."
        ),
    ] = Backend.PRELOAD,
    as_json: Json = False,
) -> None:
    """Run a program whose anonymous memory is remote, behind local memory of this size.

    The output and the exit code are the program's. Results go to standard error, and so does a warning if
    more than a tenth of the program's memory could not be remote (covers: false in JSON). Local memory as a
    share needs a run before, with all memory local; its output is not shown.
    """
    with told(as_json):
        there = shared.server_at(server, key_file, timeout)
        latency_ps, rate_bps = _wait(latency, bandwidth, there)
        if trace and read_ahead:
            options.refuse("what is fetched ahead does not fault: a trace needs --read-ahead 0", "--trace")
        if trace and (trace.is_dir() or not os.access(trace.parent, os.W_OK)):
            options.refuse(f"{trace} can't be written: a file in a folder that you may write to", "--trace")
        trace = trace and free(trace, force)
        memory = shared.memory(page, read_ahead, pages_a_request, policy, compress, there)
        memory = replace(memory, latency_ps=latency_ps, rate_bps=rate_bps)
        if backend is Backend.SWAP:
            _check_swapped(memory, trace)
        size = _size(local)
        all_local = None if size.share is None else _all_local(program, memory, backend)
        memory = replace(memory, local=size.of(all_local.touched_bytes if all_local else 0), trace=trace)
        least = SWAP_LEAST_PAGES if backend is Backend.SWAP else LEAST_PAGES
        if memory.local // memory.page < least:
            bytes_ = format_bytes(least * memory.page)
            options.refuse(f"at least {least} pages are needed: {bytes_}", f"--local {local}")
        outcome = _RUN[backend](program, memory)
    if outcome.untraced:
        show.error(RunError(outcome.untraced), as_json=False)
    _show(outcome, memory.local, all_local, as_json)
    raise typer.Exit(Exit.FAILED if outcome.untraced else outcome.exit_code)


def _size(local: str) -> Size:
    sizes = options.local(local, "--local")
    if len(sizes) != 1:
        options.refuse("one size is expected", f"--local {local}")
    return sizes[0]


def _all_local(program: list[str], memory: Memory, backend: Backend) -> Outcome:
    """The program's own time, and what it has in use."""
    with Path(os.devnull).open("wb") as nowhere:
        outcome = _RUN[backend](program, replace(memory, local=ALL), log=nowhere)
    if outcome.interrupted:  # Whatever its exit code: how much it has in use is not known.
        raise KeyboardInterrupt
    if outcome.exit_code:
        raise RunError(f"the program failed with all memory local: exit code {outcome.exit_code}")
    return outcome


def _wait(latency: str | None, bandwidth: str | None, server: MemoryServer | None) -> tuple[int, int]:
    """Latency in ps and rate in bit/s; a rate of 0 for no wait but the server's own."""
    if latency is None and bandwidth is None and server:
        return 0, 0
    if latency is None or bandwidth is None:
        needed = "--latency" if latency is None else "--bandwidth"
        options.refuse("it is needed: a fault waits latency + size / bandwidth", needed)
    rates = options.rates(bandwidth, "--bandwidth")
    if len(rates) != 1:
        options.refuse("one bandwidth is expected", f"--bandwidth {bandwidth}")
    return options.one_time(latency, "--latency"), rates[0]


def _check_swapped(memory: Memory, trace: Path | None) -> None:
    if memory.server:
        options.refuse("the kernel swaps to this machine: a server takes --backend preload", "--server")
    if memory.page != SWAP_PAGE:
        options.refuse("the kernel swaps pages of 4KiB: others take --backend preload", "--page")
    if memory.read_ahead:
        options.refuse("the kernel fetches what is needed: more takes --backend preload", "--read-ahead")
    if memory.pages_a_request != 1:
        options.refuse("the kernel asks for one page: more take --backend preload", "--pages-a-request")
    if memory.policy != "fifo":
        options.refuse("the kernel says which page leaves: others take --backend preload", "--policy")
    if memory.compress:
        options.refuse(
            "the kernel's waits are for whole pages, and its device compresses them anyway: take --backend "
            "preload",
            "--compress",
        )
    if trace:
        options.refuse("the kernel doesn't say which page: a trace takes --backend preload", "--trace")


def _show(outcome: Outcome, local: int, all_local: Outcome | None, as_json: bool) -> None:
    if as_json:
        measured = {
            **asdict(outcome),
            "local_bytes": local,
            "all_local_s": all_local.wall_s if all_local else None,
            "covers": outcome.coverage.covers if outcome.coverage else None,
            "not_governed": outcome.coverage and outcome.coverage.worst_share,
            "fetches_a_page": outcome.fetches_a_page,
            "injected_over_nominal": outcome.injected_over_nominal,
            "own_us_a_fault": outcome.own_us_a_fault,
            "lost_us_a_fault": outcome.lost_us_a_fault,
            "compression_ratio": outcome.compression_ratio,
        }
        print(json.dumps(measured), file=sys.stderr)
        return
    ratio = outcome.injected_over_nominal
    table = Table(box=box.SIMPLE, show_header=False)
    again = outcome.fetches_a_page
    rows: list[tuple[str, str | None]] = [
        ("backend", outcome.backend),
        ("local memory", format_bytes(local)),
        ("wall time", f"{outcome.wall_s:,.3f} s"),
        ("page faults that fetched", f"{outcome.faults:,}"),
        ("pages touched first", _count(outcome.first_touches)),
        ("fetches a page that was touched", None if again is None else f"{again:.3f}"),
        ("local pages watched, and used", _count(outcome.soft_faults)),
        ("from remote memory", f"{outcome.pages_in:,} pages, {format_bytes(outcome.bytes_in)}"),
        ("to remote memory", f"{outcome.pages_out:,} pages, {format_bytes(outcome.bytes_out)}"),
        ("waits for it", f"{outcome.injected_s:,.3f} s"),
        *(
            [("of these, for pages of other threads", f"{outcome.queued_s:,.3f} s")]
            if outcome.queued_s
            else []
        ),
        ("injected over nominal", "–" if ratio is None else f"{ratio:.4f}"),
        *([("waits for the server", f"{outcome.server_s:,.3f} s")] if outcome.server_s else []),
        _lost(outcome),
        *_compression(outcome),
        *_coverage(outcome.coverage),
        ("memory in use at most", format_bytes(outcome.touched_bytes)),
        ("memory asked for", format_bytes(outcome.asked_bytes)),
        ("processes on remote memory", _count(outcome.processes)),
    ]
    if all_local:
        slower = outcome.wall_s / all_local.wall_s - 1
        rows[2:2] = [
            (
                "all memory local, before",
                f"{all_local.wall_s:,.3f} s, {format_bytes(all_local.touched_bytes)} in use",
            )
        ]
        rows[4:4] = [("slower by", f"{slower:.1%}")]
    if outcome.local_max_bytes is not None:
        rows.append(("local memory in use", f"at most {format_bytes(outcome.local_max_bytes)}"))
    if not outcome.pages_out:
        rows.append(("", _fitted(outcome.coverage)))
    rows += [("" if index else "to be known", note) for index, note in enumerate(outcome.notes)]
    for name, value in rows:
        if value is not None:
            table.add_row(name, value)
    shown = SafeConsole(stderr=True, highlight=False)
    wrong = outcome.coverage and covered.warning(outcome.coverage)
    if wrong:
        shown.print(wrong, style="bold red", soft_wrap=True)
    shown.print(table)


def _coverage(coverage: Coverage | None) -> list[tuple[str, str | None]]:
    if coverage is None:
        return []
    return [
        ("memory that could be remote", covered.governed(coverage)),
        ("the rest is", covered.kinds(coverage) or None),
    ]


def _fitted(coverage: Coverage | None) -> str:
    """What is to be said where nothing left local memory."""
    if coverage is None or coverage.covers:
        return "all of it fitted into local memory"
    if coverage.share is None:
        return "nothing left local memory"
    return "what could be remote fitted into local memory"


def _lost(outcome: Outcome) -> tuple[str, str]:
    """What a fault costs beyond its wait; by swap that is known of the device only."""
    lost, own = outcome.lost_us_a_fault, outcome.own_us_a_fault
    if own is None:
        return "lost per fault, beyond its wait", "–"
    if lost is None:
        return (
            "per fault, beyond its wait",
            f"{own:.2f} µs in the swap device; the kernel's own time is not measured",
        )
    switches = lost - own
    return (
        "lost per fault, beyond its wait",
        f"{lost:.2f} µs: {own:.2f} in the handler, {switches:.2f} to reach it and go on",
    )


def _compression(outcome: Outcome) -> list[tuple[str, str | None]]:
    """What compression saves, and what it takes."""
    found, ratio = outcome.compression, outcome.compression_ratio
    if found is None or ratio is None:
        return []
    plain = format_bytes(found.plain_bytes_in + found.plain_bytes_out)
    times = [
        f"{us:.2f} µs {what}"
        for us, what in (
            (found.compress_us_a_page, "to compress"),
            (found.decompress_us_a_page, "to decompress"),
        )
        if us is not None
    ]
    packed = format_bytes(outcome.bytes_in + outcome.bytes_out)
    return [
        (f"compressed by {found.codec}", f"{plain} to {packed}, {ratio:.2f} times smaller"),
        ("in the handler, 4 KiB take", " and ".join(times) or None),
    ]


def _count(number: int | None) -> str | None:
    return None if number is None else f"{number:,}"
