"""Programs on remote memory in the core's terms: a trace's words, base units."""

from __future__ import annotations

import sys
from array import array
from pathlib import Path
from typing import Any

from incast.bounded import read_bytes
from incast.document import Loc
from incast.kinds.farmem import Convolution, FarmemCosts, FileTrace, ZipfAccesses
from incast.kinds.traffic import Farmem
from incast.lab.findings import Findings
from incast.quantity import parse_bytes, parse_share, parse_time

_TRACE_BYTES_MAX = 16_000_000
_WORD = 8


class FarmemResolver:
    """Resolves one job."""

    def __init__(
        self, job: Farmem, loc: Loc, hosts: tuple[list[str], list[str]], folder: Path, findings: Findings
    ) -> None:
        self.job = job
        self.loc = loc
        self.programs, self.memory = hosts
        self.folder = folder
        self.findings = findings

    def spec(self) -> dict[str, Any]:
        """The job's work."""
        job = self.job
        if "write_buffer" in job.model_fields_set and job.write_back != "after":
            message = "write_back is before: a fault waits for what leaves, so nothing piles up"
            self.findings.add((*self.loc, "write_buffer"), message)
        share = parse_share(job.local)
        return {
            "programs": self.programs,
            "memory": self.memory,
            "pattern": self._pattern(),
            "local": {"bytes": parse_bytes(job.local)} if share is None else {"share": share},
            "page": parse_bytes(job.page),
            "policy": job.policy,
            "read_ahead": job.read_ahead,
            "pages_a_request": job.pages_a_request,
            "write_back": job.write_back,
            "write_buffer": job.write_buffer,
            "schedule": job.schedule,
            "compression": float(job.compression),
            "costs": _costs(job.costs),
        }

    def _pattern(self) -> dict[str, Any]:
        match self.job.pattern:
            case FileTrace() as trace:
                return {"kind": "trace", "words": self._words(trace.file)}
            case Convolution() as convolution:
                return {**convolution.model_dump(), "compute": parse_time(convolution.compute)}
            case accessed:
                return {
                    "kind": "accesses",
                    "order": {"zipf": float(accessed.skew)}
                    if isinstance(accessed, ZipfAccesses)
                    else accessed.kind,
                    "size": parse_bytes(accessed.size),
                    "accesses": accessed.accesses,
                    "writes": float(accessed.writes),
                    "compute": parse_time(accessed.compute),
                }

    def _words(self, name: str) -> list[int]:
        path = self.folder / name
        place = (*self.loc, "pattern", "file")
        words = array("Q")
        try:
            content = read_bytes(path, _TRACE_BYTES_MAX)
        except OSError as error:
            self.findings.add(place, f"{name}: {(error.strerror or str(error)).lower()}")
            return []
        # What a program's death left of the last word is none.
        words.frombytes(content[: len(content) // _WORD * _WORD])
        if sys.byteorder == "big":
            words.byteswap()
        return words.tolist()


def _costs(costs: FarmemCosts) -> dict[str, Any]:
    return {
        "handler": parse_time(costs.handler),
        "compress": parse_time(costs.compress),
        "decompress": parse_time(costs.decompress),
        "serve": parse_time(costs.serve),
    }
