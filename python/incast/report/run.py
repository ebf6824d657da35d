"""A run as the report sees it: its facts, and its tables, kept or read when asked for. `load` makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast import lateness
from incast.incomplete import STUCK, lines

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Run:
    """The tables and the facts of one run."""

    name: str
    """The choice's name; the folder's where there are no choices."""
    folder: Path
    tables: Mapping[str, pl.DataFrame]
    summary: dict[str, Any] = field(default_factory=dict)
    scenario: dict[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """What could not be read, or was not there; more when a table is read later."""

    def table(self, name: str) -> pl.DataFrame:
        """The table, with every column of `load.TABLES`; empty where the run has none."""
        return self.tables[name]

    def by_job(self, *tables: str) -> list[tuple[str, list[pl.DataFrame]]]:
        """Rows of tables by the jobs of the first, with their names; one job alone goes without its name."""
        found = [self.table(name) for name in tables]
        names = found[0]["job"].unique(maintain_order=True).to_list()
        return [
            (name if len(names) > 1 else "", [frame.filter(job=name) for frame in found]) for name in names
        ]

    @cached_property
    def hosts(self) -> frozenset[str]:
        """Names of the nodes that are hosts."""
        ports, flows = self.table("ports"), self.table("flows")
        by_kind = ports.filter(kind="host")["node"].to_list()
        return frozenset(by_kind or flows["from"].to_list() + flows["to"].to_list()) - {None}

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.summary["seed"])

    @property
    def incomplete(self) -> frozenset[str]:
        """Jobs that failed or did not end."""
        return frozenset(each["job"] for each in self.summary.get("incomplete", []))

    @property
    def alerts(self) -> tuple[str, ...]:
        """What stands above everything else, so that nobody takes the run for a fast one."""
        stuck = ["The run is stuck: jobs had not ended, and nothing was left to happen."]
        late = [f"{lateness.line(self.summary)}."] if lateness.is_too_late(self.summary) else []
        return (*(stuck if self.summary.get("end") == STUCK else []), *lines(self.summary), *late)
