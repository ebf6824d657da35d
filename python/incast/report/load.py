"""Reads a run folder, or a folder of choices, into tables.

Tolerant on purpose: a run that was interrupted, or that did not measure something, still has a
report. What could not be read is noted, so that the page can say so. It computes nothing.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from incast.report.text import natural_key

_INTEGER = pl.Int64
_TEXT = pl.String
_REAL = pl.Float64


def _columns(text: str = "", integer: str = "", real: str = "") -> dict[str, pl.DataType]:
    columns: dict[str, pl.DataType] = {}
    for names, kind in ((text, _TEXT), (integer, _INTEGER), (real, _REAL)):
        columns.update({name: kind() for name in names.split()})
    return columns


# What the report reads of each table. Columns beyond these are ignored, absent ones become null.
TABLES: dict[str, dict[str, pl.DataType]] = {
    "jobs": _columns("job kind", "start_ps end_ps flows bytes"),
    "flows": _columns(
        "job from to outcome",
        "flow group class bytes start_ps end_ps sent_packets sent_bytes retransmits timeouts "
        "fast_recoveries tail_loss_probes ece_acks min_rtt_ps srtt_ps",
    ),
    "ports": _columns(
        "port node peer kind",
        "rate_bps sent_packets sent_bytes wire_bytes busy_ps enqueued_packets in_discards "
        "out_discards drops_tail drops_early drops_pool drops_mtu drops_down lost corrupted marks "
        "queue_max_bytes queue_max_packets wait_p50_ps wait_p99_ps wait_p999_ps wait_max_ps",
        "utilisation",
    ),
    "waits": _columns("port", "class from_ps to_ps packets"),
    "ports_series": _columns(
        "port", "time_ps class queue_bytes queue_packets sent_bytes drops marks"
    ),
    "datagrams": _columns(
        "job from to", "sent_packets sent_bytes received_packets received_bytes"
    ),
    "events": _columns("what where", "time_ps"),
}

# Tables without which a section of the report is empty.
EXPECTED = ("jobs", "flows", "ports", "waits", "ports_series")


@dataclass(frozen=True)
class Run:
    """The tables and the facts of one run."""

    name: str
    folder: Path
    tables: dict[str, pl.DataFrame]
    summary: dict[str, Any] = field(default_factory=dict)
    scenario: dict[str, Any] = field(default_factory=dict)
    graph: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def table(self, name: str) -> pl.DataFrame:
        """The table, with every column of `TABLES`; empty where the run has none."""
        return self.tables[name]


@dataclass(frozen=True)
class Report:
    """What one report is about: one run, or the runs of a scenario's choices."""

    title: str
    folder: Path
    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()


def load(folder: Path) -> Report:
    """Reads `folder`; raises `FileNotFoundError` where it holds no run."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    notes: list[str] = []
    listed = _listed_choices(folder, notes)
    found = [(sub.name, sub) for sub in _run_folders(folder)]
    listed_folders = {path for _, path in listed}
    choices = listed + [item for item in found if item[1] not in listed_folders]
    if choices:
        runs = tuple(_load_run(path, name) for name, path in choices)
    elif _is_run(folder):
        runs = (_load_run(folder, ""),)
    else:
        raise FileNotFoundError(f"{folder} holds no run: no summary.json and no tables")
    title = next((str(r.scenario["name"]) for r in runs if r.scenario.get("name")), folder.name)
    return Report(title=title, folder=folder, runs=runs, notes=tuple(notes))


def _is_run(folder: Path) -> bool:
    return (folder / "summary.json").is_file() or any((folder / t).is_dir() for t in TABLES)


def _run_folders(folder: Path) -> list[Path]:
    """Sub-folders that are runs, in natural order; a run's own tables are none."""
    subs = (p for p in folder.iterdir() if p.is_dir() and p.name not in TABLES)
    return sorted((p for p in subs if _is_run(p)), key=lambda p: natural_key(p.name))


def _listed_choices(folder: Path, notes: list[str]) -> list[tuple[str, Path]]:
    """Choices in the order of `choices.json` (or the folder's summary), with their names."""
    listed: Any = None
    for file in ("choices.json", "summary.json"):
        content = _read_json(folder / file, notes)
        listed = content.get("choices") if isinstance(content, dict) else content
        if isinstance(listed, list | dict):
            break
    entries = listed.items() if isinstance(listed, dict) else ((None, e) for e in listed or [])
    choices = []
    for key, entry in entries:
        name, sub = _choice(key, entry)
        path = folder / sub
        if not sub or not path.resolve().is_relative_to(folder.resolve()):
            continue
        if _is_run(path):
            choices.append((name, path))
        else:
            notes.append(f"Choice {name} has no results.")
    return choices


def _choice(key: str | None, entry: Any) -> tuple[str, str]:
    """Name and sub-folder of an entry: a name, or an object with `name` and `folder`."""
    if isinstance(entry, dict):
        name = str(entry.get("name") or key or entry.get("folder") or "")
        return name, str(entry.get("folder") or name)
    name = str(key if key is not None else entry)
    return name, name


def _load_run(folder: Path, name: str) -> Run:
    notes: list[str] = []
    tables = {table: _read_table(folder / table, table, notes) for table in TABLES}
    absent = [t for t in EXPECTED if not (folder / t).is_dir()]
    if absent:
        notes.append("Not recorded: " + ", ".join(absent) + ".")
    summary, scenario, graph = (
        _read_object(folder / file, notes)
        for file in ("summary.json", "resolved.json", "graph.json")
    )
    if not summary:
        notes.append("No summary.json: the run did not come to its end.")
    nested = scenario.get("scenario")
    if isinstance(nested, dict):
        scenario = nested
    return Run(name or folder.name, folder, tables, summary, scenario, graph, tuple(notes))


def _read_table(folder: Path, name: str, notes: list[str]) -> pl.DataFrame:
    """All readable parts of a table, as the columns of `TABLES`."""
    parts = []
    for file in sorted(folder.glob("*.parquet")) if folder.is_dir() else []:
        try:
            parts.append(pl.read_parquet(file, memory_map=False))
        except (pl.exceptions.PolarsError, OSError):
            notes.append(f"{name}/{file.name} could not be read; its rows are missing here.")
    columns = TABLES[name]
    frame = pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()
    return frame.select(
        (
            pl.col(column).cast(kind, strict=False)
            if column in frame.columns
            else pl.lit(None, dtype=kind).alias(column)
            for column, kind in columns.items()
        )
    ) if parts else pl.DataFrame(schema=columns)


def _read_json(file: Path, notes: list[str]) -> Any:
    if not file.is_file():
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        notes.append(f"{file.name} could not be read.")
        return None


def _read_object(file: Path, notes: list[str]) -> dict[str, Any]:
    content = _read_json(file, notes)
    return content if isinstance(content, dict) else {}
