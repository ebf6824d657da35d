"""A run as the page sees it: its tables, samples and network, read when somebody asks for them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import polars as pl

from incast import stored
from incast.bounded import read_json
from incast.errors import ResultError
from incast.folder import GRAPH, MARKER, RESOLVED, SUMMARY, check_format
from incast.report import run as report_run
from incast.report.graph import Graph, graph
from incast.view import places, tables
from incast.view.pyramid import Pyramid

Signature = tuple[tuple[str, int, int], ...]
"""Names, sizes and times of change of a run's files."""


class Run:
    """What is on disk of a run now; a new one is made when that has changed."""

    def __init__(self, place: places.Place) -> None:
        self.name = place.name
        self.folder = place.folder
        self.notes: list[str] = []
        """What could not be read, and what is missing."""
        self.problem = places.problem(place)
        """Why there is nothing to see; empty where there is something."""
        try:
            check_format(self.folder)
        except ResultError as error:
            self.problem = f"{error}."

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The figures; empty while the run is in progress, or where they can't be read."""
        if not (self.folder / SUMMARY).is_file():
            return {}
        try:
            return stored.read_run(self.folder / SUMMARY)
        except ResultError as error:
            self.notes.append(f"{error}.")
            return {}

    @property
    def in_progress(self) -> bool:
        """Whether more may come."""
        return (self.folder / MARKER).is_file() and not (self.folder / SUMMARY).is_file()

    @cached_property
    def ports(self) -> pl.DataFrame:
        """The table `ports`; before the end of the run, as much as the names of sampled ports say."""
        found = self.read("ports", tables.PORTS).drop_nulls(["port", "node", "peer"]).unique("port")
        if found.height:
            return found.sort("port")
        names = [name for name in self.pyramid.ports if ":" in name]
        ends = [name.partition("#")[0].partition(":") for name in names]
        files = tables.parts(self.folder, "hosts_series")[:1]
        hosts = set(tables.collect(files, {"host": pl.String()}, self.notes)["host"])
        said: dict[str, Any] = dict.fromkeys(tables.PORTS)
        said |= {"port": names, "node": [a for a, _, _ in ends], "peer": [b for _, _, b in ends]}
        said["kind"] = ["host" if node in hosts else "switch" for node in said["node"]]
        return pl.DataFrame(said, schema=tables.PORTS)

    @cached_property
    def graph(self) -> Graph:
        """Nodes and ports."""
        read = {"ports": self.ports, "flows": pl.DataFrame(schema=tables.FLOWS)}
        scenario, links = (self._object(file) for file in (RESOLVED, GRAPH))
        return graph(report_run.Run(self.name, self.folder, read, {}, scenario, links))

    @cached_property
    def flows(self) -> int:
        """How many flows the table has."""
        return self.read("flows", {"flow": pl.Int64()}).height

    @cached_property
    def pyramid(self) -> Pyramid:
        """The samples of its ports."""
        return Pyramid.of(self.folder)

    def read(self, table: str, columns: tables.Schema, *where: pl.Expr) -> pl.DataFrame:
        """Rows of a table that meet the conditions, as far as they can be read."""
        return tables.read(self.folder, table, columns, self.notes, *where)

    def signature(self) -> Signature:
        """Changes whenever something is written into the folder or removed from it."""
        found = []
        for file in (*self.folder.glob("*/*.parquet"), *self.folder.glob("*.json")):
            try:
                status = file.stat()
            except OSError:
                continue  # It was removed just now.
            found.append((f"{file.parent.name}/{file.name}", status.st_size, status.st_mtime_ns))
        return tuple(sorted(found))

    def alerts(self) -> tuple[str, ...]:
        """What stands above everything else, as in the report."""
        return report_run.Run(self.name, self.folder, {}, self.summary).alerts

    def _object(self, file: str) -> dict[str, Any]:
        try:
            content = read_json(self.folder / file)
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}
