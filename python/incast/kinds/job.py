"""What every kind of job has: common fields, its form for the core, and how it is judged and shown.

A kind is a model below `Job` in a module of its own. Everything that differs between kinds is said there and
asked through the registry (`incast.kinds`): no other module names a kind.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from incast.bounded import read_bytes
from incast.document import Loc
from incast.hints import unknown
from incast.incomplete import by_outcome
from incast.lab.base import Kind, Name, TrafficClass
from incast.lab.cluster import Cluster
from incast.lab.findings import Findings
from incast.lab.quantities import Time
from incast.lab.select import SelectError, select
from incast.metric import Metric
from incast.quantity import parse_time
from incast.report.parts import Drawn, Section, Table
from incast.report.run import Run


@dataclass(frozen=True)
class Traits:
    """How the jobs of a kind are judged and shown."""

    judged: Literal["own", "duration", "groups", "flows"]
    """By what choices are compared: the first of the kind's own figures (where a run lacks it, the end of the
    work), the end of the work, how long a group of flows takes on average, or the 99th percentile of flow
    completion times."""
    group: str = ""
    """What a group of flows is called; empty where groups mean nothing."""
    first_group: int = 0
    """Flows with a lower group belong to none."""
    flows: Literal["timed", "lasting", "none"] = "timed"
    """Whether the time that a flow takes says something; streams that last as long as the job say nothing."""
    awaited: bool = True
    """A run waits for the job and its figures count; otherwise it is background traffic."""
    endless: bool = False
    """It may never end by itself: the scenario has to say when the run ends."""
    linux: bool = False
    """It runs on emulated hosts only."""
    cut: bool = False
    """The end of a run may cut it off: it isn't incomplete then."""


class Columns(NamedTuple):
    """Names of a table's columns by their type, with blanks between them."""

    text: str = ""
    integer: str = ""
    real: str = ""


@dataclass(frozen=True)
class Site:
    """Where a job is to run, and where what is wrong with it is noted."""

    cluster: Cluster
    seed: int
    folder: Path
    """Where the files are that it names."""
    findings: Findings
    loc: Loc
    """The job's place in the document."""

    def refuse(self, field: str | Loc, message: str) -> None:
        """Notes what is wrong with a field of the job, like `costs.node_expiry`."""
        steps = tuple(field.split(".")) if isinstance(field, str) else field
        self.findings.add((*self.loc, *steps), message)

    def hosts(self, selector: str | list[str], *field: str | int) -> list[str]:
        """The hosts that a field means."""
        try:
            return select(selector, self.cluster.hosts, "a host")
        except SelectError as error:
            self.refuse(field, str(error))
            return []

    def group(self, selector: str | list[str], field: str) -> list[str]:
        """The hosts that a field means, at least two."""
        hosts = self.hosts(selector, field)
        if len(hosts) == 1:
            self.refuse(field, f"only {hosts[0]} takes part: at least 2 hosts are needed")
        return hosts

    def check_host(self, name: str, *field: str | int) -> None:
        """Notes a name that is no host's."""
        if name not in self.cluster.hosts:
            self.refuse(field, unknown("a host", name, self.cluster.hosts))

    def read(self, name: str, field: str, most: int) -> bytes | None:
        """The file that a field names, of at most so many bytes; `None` where it can't be read."""
        try:
            return read_bytes(self.folder / name, most)
        except OSError as error:
            self.refuse(field, f"{name}: {(error.strerror or str(error)).lower()}")
            return None


class Job(Kind):
    """What every job has."""

    traits: ClassVar[Traits]
    metrics: ClassVar[tuple[Metric, ...]] = ()
    """Figures that the summary has of its jobs beyond those of all jobs."""
    columns: ClassVar[Mapping[str, Columns]] = {}
    """What the report reads of its own tables."""

    name: Name
    """Unique name."""
    start: Time = "0s"
    """When it begins."""
    class_: TrafficClass = Field(0, alias="class")
    """802.1p class of its packets, 0–7."""

    @classmethod
    def __pydantic_init_subclass__(cls, **settings: Any) -> None:
        """Refuses a kind that forgets what others will ask it."""
        super().__pydantic_init_subclass__(**settings)
        if "kind" not in cls.model_fields:
            return
        if "traits" not in cls.__dict__ or cls.work is Job.work:
            raise TypeError(f"{cls.__name__} is a kind of job: it needs `traits` and `work`")
        if cls.traits.judged == "own" and not cls.metrics:
            raise TypeError(f"{cls.__name__} is judged by its own figures: it needs `metrics`")

    def spec(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        return {
            "name": self.name,
            "start": parse_time(self.start),
            "class": self.class_,
            "work": self.work(site),
        }

    @abstractmethod
    def work(self, site: Site) -> dict[str, Any]:
        """What its kind adds to what the core reads; notes what is wrong with it."""

    def settings(self, *derived: str) -> dict[str, Any]:
        """The fields of its kind in base units, but for those that others are derived from."""
        without = {*Job.model_fields, *derived}
        return {name: value for name, value in self.base_units().items() if name not in without}

    @classmethod
    def carries(cls, work: Mapping[str, Any]) -> int:
        """Bytes that the job is sure to carry, as far as they are known before it begins."""
        return 0

    @classmethod
    def arrives(cls, work: Mapping[str, Any]) -> int:
        """How long its flows arrive, where that and no amount is known before it begins."""
        return 0

    @classmethod
    def missing(cls, folder: Path, jobs: Sequence[str]) -> dict[str, str]:
        """What these incomplete jobs have not done, in words."""
        return by_outcome(folder, "flows", "flow", ("finished",), jobs)

    @classmethod
    def figures(cls, folder: Path) -> dict[str, dict[str, Any]]:
        """The kind's own figures of each of its jobs."""
        return {}

    @classmethod
    def section(cls, drawn: list[Drawn]) -> Section | None:
        """The kind's own section of the report."""
        return None

    @classmethod
    def tables(cls, run: Run) -> list[Table]:
        """The kind's own tables in the report."""
        return []
