"""`incast show`: buffers, ways and pauses of a run, as a switch's command line shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.cli import show
from incast.cli.common import Json, told
from incast.network import Tables, buffers, pauses, ways
from incast.result import Result

RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A result folder.")]

_ROWS = 20
"""So many rows of a table are shown; JSON has all."""
_CLASSES = 4
"""So many classes stand side by side in 80 columns."""
_Column = tuple[str, Callable[[dict[str, Any]], str]]


def show_buffers(run: RunFolder, as_json: Json = False) -> None:
    """Show watermarks of buffers: shared pools, queues by port and class, priority groups of PFC."""
    with told(as_json):
        table = _tables(run)
        pools, queues, groups = buffers.pools(table), buffers.queues(table), buffers.groups(table)
    if as_json:
        show.print_json({"pools": pools.to_dicts(), "queues": queues.to_dicts(), "groups": groups.to_dicts()})
        return
    _print(
        "Shared buffer pools, beyond the reserves",
        pools,
        ("switch", lambda row: row["switch"]),
        ("pool", lambda row: text.size(row["size_bytes"])),
        ("watermark", lambda row: text.size(row["used_max_bytes"])),
        ("used", lambda row: text.percent(row["used_max"])),
        ("headroom", lambda row: text.size(row["headroom_size_bytes"])),
        ("headroom watermark", lambda row: text.size(row["headroom_max_bytes"])),
    )
    _print("Queue watermarks", queues, *_queue_columns(queues))
    _print(
        "Priority-group watermarks",
        groups,
        ("port", lambda row: row["port"]),
        ("class", lambda row: str(row["class"])),
        ("watermark", lambda row: text.size(row["held_max_bytes"])),
        ("headroom watermark", lambda row: text.size(row["headroom_max_bytes"])),
    )
    if not (pools.height or queues.height):
        show.out.print("No switch shares memory, and no packet waited in a switch.")


def _queue_columns(queues: pl.DataFrame) -> list[_Column]:
    """The port, its queue, and the classes with the longest queues."""

    def of(number: int) -> Callable[[dict[str, Any]], str]:
        return lambda row: text.size(
            next((each["queue_max_bytes"] for each in row["classes"] or [] if each["class"] == number), None)
        )

    each = queues.select(pl.col("classes").explode(empty_as_null=True).struct.unnest()).drop_nulls()
    most = each.group_by("class").agg(pl.col("queue_max_bytes").max())
    longest = most.sort("queue_max_bytes", "class", descending=[True, False])["class"].head(_CLASSES)
    return [
        ("port", lambda row: row["port"]),
        ("all classes", lambda row: text.size(row["queue_max_bytes"])),
        *((f"class {number}", of(number)) for number in sorted(longest)),
    ]


def show_ways(run: RunFolder, as_json: Json = False) -> None:
    """Show how evenly ECMP used its ways: Jain's index, and the largest way by the even share."""
    with told(as_json):
        table = _tables(run)
        groups = ways.groups(table)
        each = ways.ways(table).join(ways.flows(table), on="port", how="left")
        each = each.with_columns(pl.col("flows").fill_null(0)).sort(*ways.KEYS, "port")
    if as_json:
        show.print_json({"groups": groups.to_dicts(), "ways": each.to_dicts()})
        return
    if not groups.height:
        show.out.print("No ways of ECMP: no node chooses among several, or measure.interval is not set.")
        return
    _print(
        "ECMP groups, least even first",
        groups,
        ("node", lambda row: row["node"]),
        ("group", lambda row: str(row["group"])),
        ("ways", lambda row: str(row["ways"])),
        ("to hosts", lambda row: text.count(row["destinations"])),
        ("sent", lambda row: text.size(row["sent_bytes"])),
        ("Jain", lambda row: _index(row["jain"])),
        ("largest / even", lambda row: _times(row["largest"])),
        ("by", lambda row: row["largest_port"] if row["sent_bytes"] else text.NONE),
    )
    first = groups.row(0, named=True)
    named = f"{first['node']} group {first['group']}"
    _print(
        f"Ways of {named}",
        each.filter((pl.col("node") == first["node"]) & (pl.col("group") == first["group"])),
        ("port", lambda row: row["port"]),
        ("sent", lambda row: text.size(row["sent_bytes"])),
        ("share", lambda row: text.percent(row["share"])),
        ("flows", lambda row: text.count(row["flows"])),
    )


def show_pauses(run: RunFolder, as_json: Json = False) -> None:
    """Show pauses of PFC: who asked for them and why, and which ports were paused for how long."""
    with told(as_json):
        table = _tables(run)
        causes, paused = pauses.causes(table), pauses.paused(table)
    if as_json:
        show.print_json({"causes": causes.to_dicts(), "paused": paused.to_dicts()})
        return
    _print(
        "Pauses by cause",
        causes,
        ("asked by", lambda row: row["port"]),
        ("class", lambda row: str(row["class"])),
        ("because", pauses.why),
        ("pauses", lambda row: text.count(row["pauses"])),
        ("in all", lambda row: text.time(row["asked_ps"])),
        ("longest", lambda row: text.time(row["asked_max_ps"])),
    )
    _print(
        "Ports that were paused",
        paused,
        ("port", lambda row: row["port"]),
        ("class", lambda row: str(row["class"])),
        ("XOFF received", lambda row: text.count(row["xoff_received"])),
        ("XON received", lambda row: text.count(row["xon_received"])),
        ("time paused", lambda row: text.time(row["paused_ps"])),
    )
    if not paused.height:
        show.out.print("No port was paused.")
    elif not causes.height:
        show.out.print("Causes are recorded with measure.interval.")


def _tables(folder: Path) -> Tables:
    """The tables of a single run."""
    run = Result.open(folder).single()
    return partial(getattr, run)


def _print(title: str, frame: pl.DataFrame, *columns: _Column) -> None:
    """The first rows as a table; nothing where there are none."""
    if not frame.height:
        return
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", padding=(0, 1, 0, 0))
    for number, (head, _) in enumerate(columns):
        words = number == 0 or head in ("because", "by")
        table.add_column(head, justify="left" if words else "right", overflow="fold")
    for row in frame.head(_ROWS).iter_rows(named=True):
        table.add_row(*_cells(row, columns))
    if frame.height > _ROWS:
        table.caption, table.caption_justify = f"{frame.height - _ROWS} more rows: --json has all", "left"
    show.out.print(table)


def _cells(row: dict[str, Any], columns: Sequence[_Column]) -> list[str]:
    return [escape(cell(row)) for _, cell in columns]


def _index(jain: float | None) -> str:
    return text.NONE if jain is None else f"{jain:.3f}"


def _times(largest: float | None) -> str:
    return text.NONE if largest is None else f"{largest:.2f}"
