"""A broadcast: one file from one host to many."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from incast import _core
from incast.incomplete import by_outcome
from incast.kinds.job import Columns, Job, Site, Traits
from incast.lab.base import InCore, Selector
from incast.lab.quantities import PositiveSize, PositiveTime
from incast.quantity import format_bytes, format_time, parse_bytes, parse_time
from incast.report.parts import Drawn, Section, Table
from incast.report.run import Run

_CHUNK_MAX = 4 << 20
_CHUNKS_MAX = 1 << 20
_PLAN_BYTES_MAX = 256_000_000


class Broadcast(Job):
    """One file from one host to many: hosts relay what they have, and a slow host delays no other."""

    traits = Traits(judged="groups", group="receiver", first_group=1)
    columns = {
        "broadcasts": Columns(
            "job host outcome reason",
            "complete_ps bytes resumed_bytes received_bytes sent_bytes damaged plans",
        ),
        "broadcasts_series": Columns("job host", "time_ps bytes received_bytes sent_bytes planned_bps"),
    }

    kind: Literal["broadcast"] = "broadcast"
    source: str
    """The host that has the file."""
    destinations: Selector = "*"
    """The destinations; the source is left out of a pattern."""
    size: Annotated[PositiveSize, InCore("bytes")]
    """Size of the file."""
    chunk: PositiveSize | None = None
    """Size of the chunks that hosts forward; without a value it suits the plan, 16KiB to 4MiB."""
    algorithm: Literal["flat", "random-pipeline", "depth-first", "dijkstra", "fpfr", "stable", "near"] = (
        "stable"
    )
    """How plans are made: from the source to each, a chain in random or in depth-first order, widest paths,
    spanning trees, spanning and partial trees, or close to the highest sum of rates on any topology."""
    plan: str | None = None
    """The first plan from a file (JSON), instead of a computed plan."""
    headroom: Annotated[float, Field(ge=0.5, le=10)] | None = _core.BROADCAST_HEADROOM_PERCENT / 100
    """A parent sends to a child at most at the plan's rate times this; `null`: TCP shares the links."""
    replan: bool = True
    """Plan again when links turn out slower or faster than planned."""
    disk: bool = False
    """Chunks are written to the receivers' disks, which takes time, before they are forwarded."""
    report: PositiveTime = format_time(_core.BROADCAST_REPORT_PS)
    """Interval of the hosts' reports to the source."""
    silence: PositiveTime = format_time(_core.BROADCAST_SILENCE_PS)
    """A host that is silent for this long is planned around, and rejoins when it is heard again; at least
    three reports."""
    patience: PositiveTime = format_time(_core.BROADCAST_PATIENCE_PS)
    """A host that is silent for this long has failed for good; the end waits this long for it."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        destinations = site.hosts(self.destinations, "destinations")
        self._check(site, destinations)
        return {
            **self.settings("headroom"),
            "destinations": [host for host in destinations if host != self.source],
            "plan": self._plan(self.plan, site) if self.plan else None,
            "headroom_percent": None if self.headroom is None else round(self.headroom * 100),
        }

    def _check(self, site: Site, destinations: list[str]) -> None:
        site.check_host(self.source, "source")
        if isinstance(self.destinations, list) and self.source in self.destinations:
            site.refuse("destinations", f"{self.source} is the source: it has the file")
        elif destinations == [self.source]:
            site.refuse("destinations", "nobody but the source: at least one other host is needed")
        if parse_time(self.silence) < 3 * parse_time(self.report):
            site.refuse("silence", f"{self.silence} is less than three reports, one every {self.report}")
        if parse_time(self.patience) < parse_time(self.silence):
            site.refuse("patience", f"{self.patience} is less than `silence`, {self.silence}")
        if self.chunk:
            chunk = parse_bytes(self.chunk)
            if chunk > _CHUNK_MAX:
                site.refuse("chunk", f"{self.chunk} is above {format_bytes(_CHUNK_MAX)}, the largest")
            elif -(-parse_bytes(self.size) // chunk) > _CHUNKS_MAX:
                site.refuse(
                    "chunk", f"more than {_CHUNKS_MAX} chunks of {self.chunk}: larger ones are needed"
                )

    def _plan(self, name: str, site: Site) -> Any:
        data = site.read(name, "plan", _PLAN_BYTES_MAX)
        if data is None:
            return None
        try:
            return json.loads(data.decode("utf-8"))
        except (UnicodeDecodeError, RecursionError):
            site.refuse("plan", f"{name}: not JSON text")
        except json.JSONDecodeError as error:
            site.refuse("plan", f"{name}, line {error.lineno}: not JSON: {error.msg.lower()}")
        return None

    @classmethod
    def carries(cls, work: Mapping[str, Any]) -> int:
        """The file to each destination."""
        return len(work["destinations"]) * int(work["bytes"])

    @classmethod
    def missing(cls, folder: Path, jobs: Sequence[str]) -> dict[str, str]:
        """Hosts without the whole file."""
        return by_outcome(folder, "broadcasts", "host", ("complete",), jobs)

    @classmethod
    def section(cls, drawn: list[Drawn]) -> Section | None:
        """What receivers have over time."""
        from incast.report.copying import copying

        return Section("copying", "Broadcast", copying(drawn))

    @classmethod
    def tables(cls, run: Run) -> list[Table]:
        """Hosts, and how each fared."""
        from incast.report.copying import receivers

        return receivers(run)
