"""What a run records beyond the totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incast.hints import allowed
from incast.lab.base import Model
from incast.lab.findings import Findings
from incast.lab.quantities import PositiveTime
from incast.lab.select import matches

if TYPE_CHECKING:
    from incast.lab.cluster import Cluster


class Measure(Model):
    """What a run records beyond its totals."""

    interval: PositiveTime | None = None
    """Time between samples of the series, like 100us; without a value, no series."""
    ports: list[str] = ["*"]
    """Ports in the series, `node:peer` (`#2` for a second parallel link), `*` for any text. Hosts at
    their ends are in the series of hosts."""
    flows: bool = False
    """Whether every flow's window and round-trip time are in the series too. Emulated hosts read those of
    their kernel, each up to 131072 of them: of a longer run they keep every second moment."""
    capture: list[str] = []
    """Ports whose packets are captured as pcapng."""

    def check(self, cluster: Cluster, findings: Findings) -> None:
        """Notes patterns that mean no port."""
        for field in ("ports", "capture"):
            patterns: list[str] = getattr(self, field)
            for index, pattern in enumerate(patterns):
                if pattern != "*" and not any(matches(pattern, port) for port in cluster.ports):
                    message = f"{pattern!r} matches no port (node:peer). There are: {allowed(cluster.ports)}"
                    findings.add(("measure", field, index), message)
