"""Reads a run folder, or the folder of a scenario's choices and seeds, into tables.

Tolerant on purpose: a run that was interrupted, or that did not measure something, still has a
report. What could not be read is noted, so that the page can say so. It computes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from incast import stored, table_files, text
from incast.bounded import read_json, read_text
from incast.damage import damaged
from incast.document.yaml import FILE_BYTES_MAX
from incast.errors import ResultError
from incast.folder import RESOLVED, SUBFOLDERS, SUMMARY, WRITTEN, check_format
from incast.folder import TABLES as ALL_TABLES
from incast.kinds import KINDS
from incast.kinds.job import Columns
from incast.report.run import Run
from incast.summary import figures
from incast.text import natural_key


def _typed(said: Columns) -> dict[str, pl.DataType]:
    # Each name is kept once: there may be millions of flows.
    kinds = zip(said, (pl.Categorical(), pl.Int64(), pl.Float64()), strict=True)
    return {name: kind for names, kind in kinds for name in names.split()}


# What the report reads of each table. Columns beyond these are ignored, absent ones become null.
_COMMON = {
    "jobs": Columns("job kind outcome", "start_ps end_ps flows bytes"),
    "tasks": Columns("job host kind outcome", "task number start_ps end_ps bytes"),
    "flows": Columns(
        "job from to outcome",
        "flow group bytes start_ps end_ps retransmits timeouts srtt_ps",
    ),
    "ports": Columns(
        "port node peer kind",
        "rate_bps sent_packets sent_bytes drops_tail drops_early drops_pool drops_mtu drops_down "
        "drops_headroom drops_watchdog drops_cell drops_merged in_discards out_discards lost corrupted marks "
        "pause_sent pause_received paused_ps queue_max_bytes wait_p99_ps wait_max_ps",
        "utilisation",
    ),
    "waits": Columns("port", "from_ps to_ps packets"),
    "pauses": Columns("port", "class paused_ps storms restored storm_drops"),
    "pause_causes": Columns("port paused cause egress", "class pauses asked_ps asked_max_ps"),
    "pools": Columns("switch", "size_bytes used_max_bytes"),
    "ways": Columns("node port", "group destinations"),
    "ports_series": Columns(
        "port",
        "time_ps class queue_bytes sent_bytes drops marks in_discards out_discards pause_sent "
        "pause_received paused_ps",
    ),
    "queues_series": Columns("port", "time_ps class queue_max_bytes"),
    "pools_series": Columns("switch", "time_ps used_max_bytes headroom_max_bytes"),
    "pauses_series": Columns("port", "time_ps class held_max_bytes headroom_max_bytes paused_ps"),
    "flows_series": Columns("", "time_ps flow cwnd_bytes in_flight_bytes srtt_ps"),
    "hosts_series": Columns("host", "time_ps sent_bytes received_bytes core_busy_ps disk_busy_ps"),
    "datagrams": Columns("job from to", "sent_packets received_packets received_bytes"),
    "events": Columns("what where", "time_ps"),
}
_OWN = {table: columns for kind in KINDS.values() for table, columns in kind.columns.items()}
TABLES = {table: _typed(columns) for table, columns in (_COMMON | _OWN).items()}

# Tables without which a section of the report is empty.
EXPECTED = ("jobs", "flows", "ports", "waits", "ports_series")


@dataclass(frozen=True)
class Report:
    """What one report is about: one run, or the runs of a scenario's choices."""

    title: str
    description: str
    choices: tuple[tuple[Run, ...], ...]
    """Each choice's runs, by seed."""
    notes: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[Run, ...]:
        """The run of each choice that is drawn: the one with the first seed."""
        return tuple(runs[0] for runs in self.choices)


def load(folder: Path) -> Report:
    """Reads `folder`; raises `ResultError` where it holds no run."""
    if not folder.is_dir():
        raise ResultError(f"{folder} is not a folder")
    check_format(folder)
    notes: list[str] = []
    overview = _read_summary(folder, notes)
    listed = _listed(folder, overview, notes) or _found(folder)
    if not listed and not _is_run(folder):
        raise ResultError(f"{folder} is not a result: it has no {SUMMARY} and no tables")
    choices = tuple(
        tuple(_load_run(place, name, drawn=place == places[0]) for place in places)
        for name, places in (listed or {folder.name: [folder]}).items()
    )
    first = choices[0][0]
    title = first.summary.get("name") or first.scenario.get("name") or folder.name
    return Report(str(title), _description(first.folder), choices, tuple(notes))


def joined(folders: Mapping[str, Path]) -> Report:
    """Several results on one page, by their names; choices of one are called `result/choice`."""
    loaded = {name: load(folder) for name, folder in folders.items()}
    choices = tuple(
        tuple(replace(run, name=name if len(report.choices) == 1 else f"{name}/{run.name}") for run in runs)
        for name, report in loaded.items()
        for runs in report.choices
    )
    notes = (f"{name}: {note}" for name, report in loaded.items() for note in report.notes)
    return Report(text.listed(list(loaded)), "", choices, tuple(notes))


def load_tables(folder: Path, names: tuple[str, ...]) -> Run:
    """Some tables and the summary of a folder of walks."""
    check_format(folder)
    notes: list[str] = []
    tables = {name: _read_table(folder / name, name, notes) for name in names}
    return Run(folder.name, folder, tables, stored.read_walks(folder / SUMMARY), notes=notes)


def _is_run(folder: Path) -> bool:
    """Whether the folder has a run's tables, or at least a summary that lists no other runs."""
    if any((folder / table).is_dir() for table in ALL_TABLES):
        return True
    return (folder / SUMMARY).is_file() and "choices" not in _read_summary(folder, [])


def _listed(folder: Path, overview: dict[str, Any], notes: list[str]) -> dict[str, list[Path]]:
    """The runs of each choice, as the overview lists them."""
    found: dict[str, list[Path]] = {}
    entries = overview.get("choices")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        name = str(entry.get("name") or folder.name)
        runs = entry.get("runs") or [entry.get("folder")]
        places = [folder / str(run) for run in (runs if isinstance(runs, list) else ())]
        inside = [p for p in places if p.resolve().is_relative_to(folder.resolve()) and _is_run(p)]
        if inside:
            found[name] = inside
        else:
            notes.append(f"Choice {name} has no results.")
    return found


def _found(folder: Path) -> dict[str, list[Path]]:
    """Without an overview: the sub-folders that are runs, or hold the runs of several seeds."""
    found: dict[str, list[Path]] = {}
    for sub in _folders(folder):
        seeds = [sub] if _is_run(sub) else [s for s in _folders(sub) if _is_run(s)]
        if seeds:
            found[sub.name] = seeds
    return found


def _folders(folder: Path) -> list[Path]:
    """Sub-folders but a run's own, `host2` before `host10`."""
    subs = (p for p in folder.iterdir() if p.is_dir() and p.name not in SUBFOLDERS)
    return sorted(subs, key=lambda p: natural_key(p.name))


def _load_run(folder: Path, name: str, drawn: bool) -> Run:
    notes: list[str] = []
    # Before the tables: what it takes to read a long one is free again by then.
    summary = _read_summary(folder, notes)
    scenario = _without_rows(_read_object(folder / RESOLVED, notes))
    read = _Unkept(folder, notes)
    tables = dict(read) if drawn else read
    absent = [table for table in EXPECTED if not (folder / table).is_dir()]
    if absent:
        notes.append(f"Not recorded: {', '.join(absent)}.")
    if not summary:
        notes.append(f"There is no {SUMMARY}: the run did not come to its end.")
    elif summary.get("end") == "interrupted":
        notes.append("The run was interrupted: what follows is what it had measured by then.")
    if summary.get("error"):
        notes.append(f"The run failed: {summary['error']}")
    seed = scenario.get("seed", 0)
    whole = {"seed": seed if isinstance(seed, int) else 0, **summary}
    if "jobs" not in whole:
        whole |= _figures(folder, whole, notes)
    return Run(name, folder, tables, whole, scenario, notes)


@dataclass(frozen=True)
class _Unkept(Mapping[str, pl.DataFrame]):
    """A run's tables, each read when it is asked for and not kept: there may be hundreds of seeds."""

    folder: Path
    notes: list[str]

    def __getitem__(self, name: str) -> pl.DataFrame:
        found: list[str] = []
        table = _read_table(self.folder / name, name, found)
        self.notes.extend(note for note in found if note not in self.notes)
        return table

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)


def _figures(folder: Path, summary: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The figures of a run that did not come to write its summary, if its tables are whole."""
    try:
        return figures(folder, str(summary.get("end", "")), summary.get("sim_time_ps", 0))
    except (*damaged(), ResultError, KeyError, OSError) as error:
        notes.append(f"Totals of the whole run are missing: {error}.")
        return {}


def _read_table(folder: Path, name: str, notes: list[str]) -> pl.DataFrame:
    """All readable parts of a table, as the columns of `TABLES`."""
    columns = TABLES[name]
    parts = [pl.DataFrame(schema=columns)]
    for file in sorted(folder.glob("*.parquet")) if folder.is_dir() else ():
        try:
            parts.append(_shape(table_files.scan_parquet(file), columns).collect())
        except (*damaged(), OSError):
            notes.append(f"{name}/{file.name} could not be read; its rows are missing here.")
    return pl.concat(parts)


def _shape(part: pl.LazyFrame, columns: dict[str, pl.DataType]) -> pl.LazyFrame:
    there = set(part.collect_schema().names())
    return part.select(
        pl.col(column).cast(kind, strict=False) if column in there else pl.lit(None, dtype=kind).alias(column)
        for column, kind in columns.items()
    )


def _read_summary(folder: Path, notes: list[str]) -> dict[str, Any]:
    if not (folder / SUMMARY).is_file():
        return {}
    try:
        return stored.read_run(folder / SUMMARY)
    except ResultError as error:
        notes.append(f"{error}.")
        return {}


def _read_object(file: Path, notes: list[str]) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        content = read_json(file)
    except (ValueError, OSError):
        notes.append(f"{file.name} could not be read.")
        return {}
    return content if isinstance(content, dict) else {}


def _without_rows(scenario: dict[str, Any]) -> dict[str, Any]:
    """The same with what tells one packed list of flows from others, instead of its millions of rows."""
    jobs = scenario.get("jobs")
    for job in jobs if isinstance(jobs, list) else ():
        work = job.get("work") if isinstance(job, dict) else None
        flows = work.get("flows") if isinstance(work, dict) else None
        if isinstance(flows, dict) and isinstance(rows := flows.get("rows"), str):
            flows["rows"] = f"digest {hashlib.blake2b(rows.encode(), digest_size=4).hexdigest()}"
    return scenario


def _description(folder: Path) -> str:
    """What the scenario says that it is about."""
    try:
        written = yaml.safe_load(read_text(folder / WRITTEN, FILE_BYTES_MAX))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return ""
    return str(written.get("description") or "") if isinstance(written, dict) else ""
