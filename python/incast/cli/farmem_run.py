"""`incast farmem run`: a program whose memory lies at a distance."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from incast.cli.common import Json, told
from incast.errors import RunError
from incast.farmem import options
from incast.farmem.predict import Size
from incast.farmem.run import ALL, LEAST_PAGES, Memory, Outcome
from incast.farmem.run import run as run_program
from incast.quantity import format_bytes

CONTEXT = {"allow_interspersed_args": False, "ignore_unknown_options": False}
"""What follows the program's name is the program's."""


def _of(help_: str, metavar: str) -> Any:
    return typer.Option(metavar=metavar, help=help_)


def run(
    program: Annotated[list[str], typer.Argument(metavar="PROGRAM ARGUMENTS…", help="Behind --.")],
    local: Annotated[str, _of("Local memory of each process: 200MB, or 50% of what it asks for.", "SIZE")],
    latency: Annotated[str, _of("What a request to remote memory waits, like 10us.", "TIME")],
    bandwidth: Annotated[str, _of("At which a page is sent, like 40Gbps.", "RATE")],
    page: Annotated[str, _of("Page that is exchanged, 4KiB to 2MiB.", "SIZE")] = "4KiB",
    prefetch: Annotated[int, typer.Option(min=0, max=511, help="Pages fetched with the one needed.")] = 0,
    pages_a_request: Annotated[
        int, typer.Option(min=1, max=512, help="How many pages share a latency; the document's is one.")
    ] = 1,
    policy: Annotated[
        str, _of("Which page leaves: fifo, clock or lru; the last two watch a part of the pages.", "NAME")
    ] = "fifo",
    trace: Annotated[
        Path | None,
        _of(
            "Write a trace of the faults, for predict: of the process with the most, without its forks.",
            "FILE",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a program whose anonymous memory is remote, behind local memory of this size.

    The output is the program's, and so is the exit code; what was measured goes to the error output. Local
    memory as a share takes a run more, before, with all memory local; its output is not shown.
    """
    with told(as_json):
        if trace and prefetch:
            options.refuse("what is fetched ahead does not fault: a trace needs --prefetch 0", "--trace")
        memory = _memory(latency, bandwidth, page, prefetch, pages_a_request, policy)
        size = _size(local)
        all_local = None if size.share is None else _all_local(program, memory)
        memory = replace(memory, local=size.of(all_local.asked_bytes if all_local else 0), trace=trace)
        if memory.local // memory.page < LEAST_PAGES:
            least = format_bytes(LEAST_PAGES * memory.page)
            options.refuse(f"at least {LEAST_PAGES} pages are needed: {least}", f"--local {local}")
        outcome = run_program(program, memory)
    _show(outcome, memory.local, all_local, as_json)
    raise typer.Exit(outcome.exit_code)


def _size(local: str) -> Size:
    sizes = options.local(local, "--local")
    if len(sizes) != 1:
        options.refuse("one size is expected", f"--local {local}")
    return sizes[0]


def _all_local(program: list[str], memory: Memory) -> Outcome:
    """The program's own time, and what it asks for."""
    with Path(os.devnull).open("wb") as nowhere:
        outcome = run_program(program, replace(memory, local=ALL), log=nowhere)
    if outcome.exit_code:
        raise RunError(f"the program failed with all memory local: exit code {outcome.exit_code}")
    return outcome


def _memory(
    latency: str,
    bandwidth: str,
    page: str,
    prefetch: int,
    pages_a_request: int,
    policy: str,
) -> Memory:
    size = options.pages(page, "--page", 4096)
    if len(size) != 1:
        options.refuse("one page size is expected", f"--page {page}")
    rates = options.rates(bandwidth, "--bandwidth")
    if len(rates) != 1:
        options.refuse("one bandwidth is expected", f"--bandwidth {bandwidth}")
    policies = options.policies(policy, "--policy")
    if len(policies) != 1:
        options.refuse("one policy is expected", f"--policy {policy}")
    return Memory(
        local=ALL,
        latency_ps=options.one_time(latency, "--latency"),
        rate_bps=rates[0],
        page=size[0],
        prefetch=prefetch,
        pages_a_request=pages_a_request,
        policy=policies[0],
    )


def _show(outcome: Outcome, local: int, all_local: Outcome | None, as_json: bool) -> None:
    if as_json:
        measured = {
            **asdict(outcome),
            "local_bytes": local,
            "all_local_s": all_local.wall_s if all_local else None,
            "fetches_a_page": outcome.fetches_a_page,
            "injected_over_nominal": outcome.injected_over_nominal,
            "own_us_a_fault": outcome.own_us_a_fault,
        }
        print(json.dumps(measured), file=sys.stderr)
        return
    ratio, own = outcome.injected_over_nominal, outcome.own_us_a_fault
    table = Table(box=box.SIMPLE, show_header=False)
    again = outcome.fetches_a_page
    rows = [
        ("local memory", format_bytes(local)),
        ("wall time", f"{outcome.wall_s:,.3f} s"),
        ("page faults that fetched", f"{outcome.faults:,}"),
        ("pages touched first", f"{outcome.first_touches:,}"),
        ("fetches a page that was touched", "–" if again is None else f"{again:.3f}"),
        ("local pages watched, and used", f"{outcome.soft_faults:,}"),
        ("from remote memory", f"{outcome.pages_in:,} pages, {format_bytes(outcome.bytes_in)}"),
        ("to remote memory", f"{outcome.pages_out:,} pages, {format_bytes(outcome.bytes_out)}"),
        ("waits for it", f"{outcome.injected_s:,.3f} s"),
        ("injected over nominal", "–" if ratio is None else f"{ratio:.4f}"),
        ("own cost a fault", "–" if own is None else f"{own:.2f} µs, without switches"),
        ("memory asked for", format_bytes(outcome.asked_bytes)),
        ("processes on remote memory", f"{outcome.processes:,}"),
    ]
    if all_local:
        slower = outcome.wall_s / all_local.wall_s - 1
        rows[1:1] = [
            (
                "all memory local, before",
                f"{all_local.wall_s:,.3f} s, {format_bytes(all_local.asked_bytes)} asked for",
            )
        ]
        rows[3:3] = [("slower by", f"{slower:.1%}")]
    if not outcome.processes:
        rows.append(("", "all of it fitted into local memory"))
    for name, value in rows:
        table.add_row(name, value)
    Console(stderr=True, highlight=False).print(table)
