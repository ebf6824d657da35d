"""A broadcast in the core's terms: who gets the file, a plan from a file, base units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from incast.bounded import read_bytes
from incast.document import Loc
from incast.hints import unknown
from incast.kinds.traffic import Broadcast
from incast.lab.cluster import Cluster
from incast.lab.findings import Findings
from incast.quantity import format_bytes, parse_bytes, parse_time

_CHUNK_MAX = 4 << 20
_CHUNKS_MAX = 1 << 20
_PLAN_BYTES_MAX = 256_000_000


class BroadcastResolver:
    """Resolves one job."""

    def __init__(
        self,
        job: Broadcast,
        loc: Loc,
        destinations: list[str],
        cluster: Cluster,
        folder: Path,
        findings: Findings,
    ) -> None:
        self.job = job
        self.loc = loc
        self.destinations = destinations
        self.cluster = cluster
        self.folder = folder
        self.findings = findings

    def spec(self) -> dict[str, Any]:
        """The job's work."""
        job = self.job
        self._check()
        return {
            "source": job.source,
            "destinations": [host for host in self.destinations if host != job.source],
            "bytes": parse_bytes(job.size),
            "chunk": parse_bytes(job.chunk) if job.chunk else None,
            "algorithm": job.algorithm,
            "plan": self._plan() if job.plan else None,
            "headroom_percent": None if job.headroom is None else round(job.headroom * 100),
            "replan": job.replan,
            "disk": job.disk,
            "report": parse_time(job.report),
            "silence": parse_time(job.silence),
            "patience": parse_time(job.patience),
        }

    def _check(self) -> None:
        job = self.job
        if job.source not in self.cluster.hosts:
            self._refuse("source", unknown("a host", job.source, self.cluster.hosts))
        if isinstance(job.destinations, list) and job.source in job.destinations:
            self._refuse("destinations", f"{job.source} is the source: it has the file")
        elif self.destinations == [job.source]:
            self._refuse("destinations", "nobody but the source: at least one other host is needed")
        if parse_time(job.silence) < 3 * parse_time(job.report):
            self._refuse("silence", f"{job.silence} is less than three reports, one every {job.report}")
        if parse_time(job.patience) < parse_time(job.silence):
            self._refuse("patience", f"{job.patience} is less than `silence`, {job.silence}")
        if job.chunk:
            chunk = parse_bytes(job.chunk)
            if chunk > _CHUNK_MAX:
                self._refuse("chunk", f"{job.chunk} is above {format_bytes(_CHUNK_MAX)}, the largest")
            elif -(-parse_bytes(job.size) // chunk) > _CHUNKS_MAX:
                self._refuse(
                    "chunk", f"more than {_CHUNKS_MAX} chunks of {job.chunk}: larger ones are needed"
                )

    def _plan(self) -> Any:
        path = self.folder / str(self.job.plan)
        try:
            return json.loads(read_bytes(path, _PLAN_BYTES_MAX).decode("utf-8"))
        except OSError as error:
            self._refuse("plan", f"{self.job.plan}: {(error.strerror or str(error)).lower()}")
        except (UnicodeDecodeError, RecursionError):
            self._refuse("plan", f"{self.job.plan}: not JSON text")
        except json.JSONDecodeError as error:
            self._refuse("plan", f"{self.job.plan}, line {error.lineno}: not JSON: {error.msg.lower()}")
        return None

    def _refuse(self, field: str, message: str) -> None:
        self.findings.add((*self.loc, field), message)
