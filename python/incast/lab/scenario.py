"""One scenario: a cluster, what it is asked to do, what goes wrong, what is measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PrivateAttr, field_validator

from incast.arguments import checked
from incast.folder import FILES, MARKER
from incast.kinds import AnyJob
from incast.lab.base import InCore, Model, Name
from incast.lab.clock import Clock
from incast.lab.faults import Fault
from incast.lab.host import Host, HostOverride
from incast.lab.measure import Measure
from incast.lab.quantities import PositiveTime
from incast.lab.switch import Switch, SwitchOverride
from incast.lab.topology import Framing, Topology
from incast.lab.validate import validate
from incast.written import WrittenScenario


def _no_file(name: str) -> str:
    if name in (MARKER, *FILES):
        raise ValueError(
            f"a result has a file {name}: a choice, which gets a folder there, needs another name"
        )
    return name


class Scenario(Model):
    """A scenario: everything that a run needs to know."""

    name: Name
    """Shown in results; the default name of the result folder."""
    description: str = ""
    """What it is about, for the report."""
    seed: Annotated[int, Field(ge=0, lt=2**64)] = 1
    """All randomness of the run derives from it."""
    topology: Topology
    """How nodes are connected."""
    framing: Framing = Framing()
    """Overhead of a packet on the wire beyond its IP length; the default is Ethernet."""
    switch: Annotated[Switch, InCore("switches")] = Switch()
    """Settings of switches."""
    switch_overrides: list[SwitchOverride] = []
    """Overrides for some switches; later entries override earlier ones."""
    host: Annotated[Host, InCore("hosts")] = Host()
    """Settings of hosts."""
    host_overrides: list[HostOverride] = []
    """Overrides for some hosts; later entries override earlier ones."""
    jobs: Annotated[list[AnyJob], Field(min_length=1)]
    """What the cluster does."""
    faults: list[Fault] = []
    """What goes wrong, in any order."""
    measure: Measure = Measure()
    """What is recorded beyond the totals."""
    clock: Clock | None = None
    """Whose time the run keeps; without a value its own, in which everything is exact and on emulated hosts
    computing takes no time."""
    fidelity: Literal["exact", "skip"] = "exact"
    """What is computed packet by packet: `exact`, everything; `skip`, everything but steady states. Where
    all flows go on as they did, nothing is computed until something else happens there, and counters grow as
    before. For long flows; not with PFC, cells, fluid, captures, packet costs or emulated hosts."""
    until: PositiveTime | None = None
    """Latest end of the run; without a value, it ends when all jobs except background have ended."""
    thresholds: list[str] = []
    """Conditions on the result, like `jobs.shuffle.duration < 50ms` or `ports.drops == 0`."""
    choices: dict[Annotated[Name, AfterValidator(_no_file)], dict[str, Any]] = {}
    """Variants to compare: each overrides the scenario; a key may be a dotted path."""

    @field_validator("jobs")
    @classmethod
    def _unique_names(cls, jobs: list[Any]) -> list[Any]:
        names = [job.name for job in jobs]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two jobs are named {name!r}: names must differ")
        return jobs

    _written: WrittenScenario | None = PrivateAttr(default=None)

    @classmethod
    @checked()
    def from_yaml(cls, path: str | Path) -> Self:
        """The scenario in a YAML file. Raises `ScenarioError` with all problems and their lines."""
        written = WrittenScenario.from_file(Path(path))
        scenario = validate(written.document, cls)
        scenario._written = written
        return scenario

    def written(self) -> WrittenScenario:
        """Its file, unless it was changed since, and the folder of the files that it names."""
        if self._written is None:
            return WrittenScenario.from_model(self, Path())
        if validate(self._written.document, type(self)).model_dump() == self.model_dump():
            return self._written
        return WrittenScenario.from_model(self, self._written.folder)
