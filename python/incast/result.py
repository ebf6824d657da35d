"""A result: the tables and the summary of a run, or of the runs of several choices and seeds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incast import folder, incomplete, stored
from incast.arguments import checked
from incast.errors import ResultError
from incast.folder import scan
from incast.frames import readable
from incast.hints import unknown
from incast.metrics import DONE, JOB, PORTS

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


class Result:
    """What was measured. Tables are Polars frames; their columns are in the reference manual."""

    @checked(ResultError)
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        folder.check_format(self.path)
        folder.check_kind(self.path)
        self.summary: Mapping[str, Any] = stored.read_run(self.path / folder.SUMMARY)
        """The figures; see the reference manual."""

    @staticmethod
    def open(path: str | Path) -> Result:
        """The result in a folder."""
        return Result(path)

    @cached_property
    def choices(self) -> dict[str, Result]:
        """The choices' results, by name; of several seeds, the first. Empty for a single run."""
        listed = self.summary.get("choices", [])
        return {entry["name"]: Result(self.path / entry["folder"]) for entry in listed if entry["name"]}

    @property
    def runs(self) -> list[Result]:
        """Every single run."""
        return self._runs if "choices" in self.summary else [self]

    @cached_property
    def _runs(self) -> list[Result]:
        return [self._run(run) for entry in self.summary["choices"] for run in entry["runs"]]

    def single(self) -> Result:
        """The result of one run; raises `ResultError` where it holds several."""
        if self.runs != [self]:
            raise ResultError(f"{self.path} holds {len(self.runs)} runs: name one, like {self.runs[0].path}")
        return self

    def _run(self, place: str) -> Result:
        found = Result(self.path / place)
        if "choices" in found.summary:
            raise ResultError(f"{self.path / folder.SUMMARY}: {place} is no run: it lists runs itself")
        return found

    @property
    def interrupted(self) -> bool:
        """Whether a run was stopped before its end."""
        return any(run.summary.get("end") == "interrupted" for run in self.runs)

    @property
    def incomplete(self) -> list[str]:
        """What is missing where jobs failed or did not end, one line per job and run; else empty."""
        return [line for run in self.runs for line in incomplete.lines(run.summary)]

    @property
    def passed(self) -> bool:
        """Whether all thresholds held."""
        return all(each["holds"] for run in self.runs for each in run.summary.get("thresholds", []))

    @property
    def fingerprint(self) -> str:
        """Equal for equal runs; of several runs, one that grows out of all. Empty for a live run."""
        found = [run.summary.get("fingerprint", "") for run in self.runs]
        if len(found) == 1 or not all(found):
            return found[0] if len(found) == 1 else ""
        return hashlib.sha256(" ".join(found).encode()).hexdigest()[:16]

    @cached_property
    def figures(self) -> pl.DataFrame:
        """A row per run and job: choice, seed, job, kind, and the job's figures, like `duration_ms`."""
        keys = ("kind", *(metric.key for metric in JOB))
        return _figures(
            {**_which(run), "job": name, **{key: job.get(key) for key in keys}}
            for run in self.runs
            for name, job in run.summary.get("jobs", {}).items()
        )

    @cached_property
    def totals(self) -> pl.DataFrame:
        """A row per run: choice, seed, when all jobs were done (`done_ms`), and figures of all ports."""
        keys = [metric.key for metric in PORTS]
        return _figures(
            {**_which(run), DONE.key: run.summary.get(DONE.key)}
            | {key: run.summary.get("ports", {}).get(key) for key in keys}
            for run in self.runs
        )

    @checked(ResultError)
    def frame(self, table: str) -> pl.DataFrame:
        """A table like `flows`, with times in milliseconds (`_ms`) and rates in Gb/s (`_gbps`)."""
        return readable(self.scan(table).collect())

    @checked(ResultError)
    def plot(self, what: str = DONE.name, *, port: str | None = None) -> alt.Chart | alt.LayerChart:
        """A picture, drawn by Altair: notebooks show it, and `save("picture.html")` writes it.

        `what` is `fct`, the distribution of the flow completion times; `queue`, a queue over time (of `port`,
        or of the port whose queue grew longest); or a figure as thresholds name it, like `done` or
        `jobs.answers.fct_p99`: a bar for each choice and a dot for each run. Raises `ResultError` where there
        is nothing to draw, and `MissingLibraryError` without the extra `report`.
        """
        from incast import plots  # Polars takes a while.

        return plots.draw(self.runs, what, port)

    @checked(ResultError)
    def scan(self, table: str) -> pl.LazyFrame:
        """A table as a lazy frame; of several runs together, with the columns `choice` and `seed`."""
        if table not in folder.TABLES:
            raise ResultError(unknown("a table", table, folder.TABLES))
        if self.runs == [self]:
            return scan(self.path, table)
        import polars as pl  # It takes a while.

        frames = [
            scan(run.path, table).with_columns(
                choice=pl.lit(run.summary["choice"], pl.String), seed=pl.lit(run.summary["seed"], pl.UInt64)
            )
            for run in self.runs
        ]
        return pl.concat(frames, how="vertical_relaxed")

    def __getattr__(self, name: str) -> pl.DataFrame:
        """A table as a frame, like `result.flows`, read when it is first asked for."""
        if name not in folder.TABLES:
            raise AttributeError(f"a result has no {name!r}; its tables: {', '.join(folder.TABLES)}")
        with folder.readable(self.path / name):
            frame = self.scan(name).collect()
        self.__dict__[name] = frame
        return frame

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *folder.TABLES]

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """In a notebook: its runs played back, with the extra `notebook`."""
        try:
            from incast.view.widget import View
        except ImportError:
            return {"text/plain": repr(self)}
        bundle = View([self.path])._repr_mimebundle_(**options)
        shown = bundle[0] if isinstance(bundle, tuple) else bundle
        if shown is not None:
            shown["text/plain"] = repr(self)
        return bundle

    def __repr__(self) -> str:
        return f"Result({str(self.path)!r})"


def _which(run: Result) -> dict[str, Any]:
    return {"choice": run.summary.get("choice"), "seed": run.summary["seed"]}


def _figures(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Figures as a frame, without those that no row has."""
    import polars as pl

    frame = pl.DataFrame(list(rows), infer_schema_length=None, strict=False)
    kept = [name for name in frame.columns if frame[name].null_count() < frame.height]
    return readable(frame.select(kept))
