"""Tables of a run folder as the page needs them. What can't be read is noted, and the rest is shown.

A run may be in progress, killed, damaged or removed meanwhile, so every read may find less than the one
before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from incast import table_files
from incast.damage import damaged

Schema = dict[str, pl.DataType]


def schema(text: str, whole: str) -> Schema:
    """The types of columns, by their names with blanks between them."""
    return {name: pl.String() for name in text.split()} | {name: pl.Int64() for name in whole.split()}


PORTS: Schema = {
    **schema(
        "port node peer kind",
        "rate_bps sent_bytes in_discards out_discards marks paused_ps queue_max_bytes wait_p99_ps",
    ),
    "utilisation": pl.Float64(),
}
JOBS = schema("job kind outcome", "start_ps end_ps")
TASKS = schema("job host kind outcome", "task number start_ps end_ps bytes")
FLOWS = schema("job from to outcome path", "flow group bytes start_ps end_ps retransmits timeouts srtt_ps")
EVENTS = schema("what where", "time_ps")
HOSTS_SERIES = schema("host", "time_ps sent_bytes received_bytes core_busy_ps disk_busy_ps")
FLOWS_SERIES = schema("", "time_ps flow cwnd_bytes in_flight_bytes srtt_ps")
PORTS_SERIES = schema("port", "time_ps class queue_bytes sent_bytes drops marks paused_ps")


def parts(folder: Path, table: str) -> list[Path]:
    """The table's files in order; none where there is no table."""
    return sorted((folder / table).glob("*.parquet"))


def each_part(files: Sequence[Path], columns: Schema, notes: list[str]) -> Iterator[pl.LazyFrame]:
    """Each readable file with these columns, absent ones null; notes those that can't be read."""
    for file in files:
        try:
            yield scanned(file, columns)
        except (*damaged(), OSError):
            note(file, notes)


def scanned(file: Path, columns: Schema) -> pl.LazyFrame:
    """A file with these columns, absent ones null; raises what `damaged` lists, or `OSError`."""
    lazy = table_files.scan_parquet(file)
    there = lazy.collect_schema().names()
    return lazy.select(
        pl.col(name).cast(kind, strict=False) if name in there else pl.lit(None, kind).alias(name)
        for name, kind in columns.items()
    )


def collect(
    files: Sequence[Path],
    columns: Schema,
    notes: list[str],
    *where: pl.Expr,
) -> pl.DataFrame:
    """The rows of all readable files that meet the conditions."""
    found = [pl.DataFrame(schema=columns)]
    for file in files:
        for part in each_part([file], columns, notes):
            try:
                found.append(part.filter(*where).collect() if where else part.collect())
            except (*damaged(), OSError):
                note(file, notes)
    return pl.concat(found)


def collected(lazy: pl.LazyFrame, notes: list[str]) -> list[pl.DataFrame]:
    """The rows of a readable query, and none of one that can't be read, which is noted."""
    try:
        return [lazy.collect()]
    except (*damaged(), OSError):
        notes.append("A part of a table could not be read; its rows are missing here.")
        return []


def latest(files: Sequence[Path], notes: list[str]) -> int:
    """The last time of all files, in picoseconds."""
    last = 0
    for part in each_part(files, {"time_ps": pl.Int64()}, notes):
        for found in collected(part.select(pl.col("time_ps").max()), notes):
            last = max(last, found.item() or 0)
    return last


def read(folder: Path, table: str, columns: Schema, notes: list[str], *where: pl.Expr) -> pl.DataFrame:
    """The table's rows that meet the conditions; empty where there is no table."""
    return collect(parts(folder, table), columns, notes, *where)


def note(file: Path, notes: list[str]) -> None:
    """Notes that a file could not be read, once."""
    said = f"{file.parent.name}/{file.name} could not be read; its rows are missing here."
    if said not in notes:
        notes.append(said)
