"""Programs on emulated hosts: any Linux program, on the kernel's own TCP and the modelled network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from incast import text
from incast.emu import readings
from incast.folder import scan
from incast.frames import quantile_of, whole
from incast.kinds.job import Columns, Job, Site, Traits
from incast.lab.base import Model, Selector, Written
from incast.metric import Metric
from incast.report.parts import Table, listed
from incast.report.run import Run

_PARTS = {"p99": 0.99, "p50": 0.5, "max": 1.0}
"""Of all numbers so many are no higher."""
_NAMES = ("p99", "mean", "p50", "max")


def _one_group(pattern: str) -> str:
    readings.compiled(pattern)
    return pattern


Command = Annotated[str, StringConstraints(min_length=1, max_length=65_536, pattern=r"^[^\x00]*$")]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Reading(Model):
    """Numbers that a program prints: their mean and percentiles are figures of its job."""

    pattern: Annotated[str, AfterValidator(_one_group)]
    """A regular expression for a line, with one group around the number; a line may have several."""
    unit: Literal["s", "ms", "us", "ns", "bps", "kbps", "Mbps", "Gbps", "1"] = "s"
    """The number's unit; `1`: none. Choices are compared by the 99th percentile of times."""


class Program(Job):
    """A program on emulated hosts: Linux in virtual time, or on this machine's `clock`.

    In virtual time computing is free without `host.kernel.cpu_rate`. The hosts see this machine's files, but
    can't change them; /tmp, /run and /var/tmp are their own, except for the scenario's folder. A program runs
    in /tmp; what it prints is kept as `guests/HOST/JOB.out` in the result folder.
    """

    traits = Traits(judged="own", flows="none", endless=True, linux=True)
    metrics = (
        *(Metric(f"read_{name}_ps", f"read {name}", row="always") for name in _NAMES),
        *(Metric(f"read_{name}_bps", f"read {name}", 1, row="always") for name in _NAMES),
        *(Metric(f"read_{name}", f"read {name}", 0, row="always") for name in _NAMES),
        Metric("readings", "readings", 0, row="always"),
    )
    columns = {"commands": Columns("job host", "start_ps end_ps exit_code")}

    kind: Literal["program"] = "program"
    hosts: Selector
    """Where it runs. The first host of the topology has the address 10.0.0.1, the next 10.0.0.2."""
    command: Command
    """What the shell runs."""
    environment: Annotated[dict[Variable, Written], Field(max_length=1000)] = {}
    """Variables of its environment, beyond PATH and HOME."""
    done: Literal["exited", "started"] = "exited"
    """The job ends when the program exits, or, for a server, when it has started: then it runs until the run
    ends."""
    read: Reading | None = None
    """Numbers to read from what it prints."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        if self.class_:
            site.refuse(
                "class", "the precedence in a packet's own DS field is its class: the program sets it"
            )
        return {**self.settings(), "hosts": site.hosts(self.hosts, "hosts")}

    @classmethod
    def figures(cls, folder: Path) -> dict[str, dict[str, Any]]:
        """What was read from what programs print, over all hosts of a job."""
        import polars as pl

        found: dict[str, dict[str, Any]] = {}
        for job, (suffix, numbers) in readings.of_run(folder).items():
            read = pl.Series(numbers, dtype=pl.Float64)
            figures = {name: quantile_of(read, part) for name, part in _PARTS.items()}
            figures["mean"] = fmean(numbers) if numbers else None
            found[job] = {f"read_{name}{suffix}": figure for name, figure in figures.items()}
            if suffix:
                found[job] = {name: whole(figure) for name, figure in found[job].items()}
            found[job]["readings"] = len(numbers)
        return found

    @classmethod
    def missing(cls, folder: Path, jobs: Sequence[str]) -> dict[str, str]:
        """Programs that failed, or had not exited."""
        import polars as pl

        bad = pl.col("job").cast(pl.String).is_in(list(jobs)) & (pl.col("exit_code").fill_null(255) != 0)
        found: dict[str, list[str]] = {}
        for row in scan(folder, "commands").filter(bad).sort("job", "host").collect().iter_rows(named=True):
            how = "has not exited" if row["exit_code"] is None else f"exited with {row['exit_code']}"
            found.setdefault(row["job"], []).append(f"{row['host']} {how}")
        return {job: ", ".join(how) for job, how in found.items()}

    @classmethod
    def tables(cls, run: Run) -> list[Table]:
        """A row per program."""
        found = listed(
            "Programs",
            run.table("commands").sort("job", "host"),
            {
                "Program": lambda row: str(row["job"]),
                "host": lambda row: str(row["host"]),
                "started": lambda row: text.time(row["start_ps"]),
                "exited": lambda row: text.time(row["end_ps"]),
                "exit code": lambda row: text.count(row["exit_code"]),
            },
            "program",
        )
        return [found] if found.rows else []
