"""Mining in the core's terms: transactions of a file, a profile's defaults, base units."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from incast.bounded import read_bytes
from incast.document import Loc
from incast.kinds.mine import FileTransactions, MineCosts, ProfileTransactions, QuestTransactions
from incast.kinds.traffic import Mine
from incast.lab.findings import Findings
from incast.quantity import parse_bytes, parse_time

_FILE_BYTES_MAX = 256_000_000
_ITEM_BYTES = 4
_COUNT_BYTES = 8
"""An item and its count."""
_ITEM = re.compile(rb"[0-9]{1,10}")
_ITEM_MAX = 2**32 - 1


class MineResolver:
    """Resolves one job."""

    def __init__(self, job: Mine, loc: Loc, nodes: list[str], folder: Path, findings: Findings) -> None:
        self.job = job
        self.loc = loc
        self.nodes = nodes
        self.folder = folder
        self.findings = findings

    def spec(self) -> dict[str, Any]:
        """The job's work."""
        job = self.job
        if job.combine is not None and job.exchange != "combined":
            self._refuse("combine", f"exchange is {job.exchange}: only combined counts are over transactions")
        if job.duplicated and job.algorithm != "hpa-eld":
            self._refuse("duplicated", f"algorithm is {job.algorithm}: only hpa-eld duplicates candidates")
        combined = {"combined": {"transactions": job.combine}}
        return {
            "nodes": self.nodes,
            "transactions": self._transactions(),
            "support": {"share": float(job.support)},
            "longest": job.longest,
            "algorithm": job.algorithm,
            "exchange": combined if job.exchange == "combined" else job.exchange,
            "memory": parse_bytes(job.memory),
            "duplicated": job.duplicated,
            "block": parse_bytes(job.block),
            "padded": job.padded,
            "order": job.order,
            "costs": _costs(job.costs),
        }

    def _transactions(self) -> dict[str, Any]:
        match self.job.transactions:
            case QuestTransactions() as quest:
                return quest.model_dump()
            case ProfileTransactions() as profile:
                return self._profile(profile)
            case FileTransactions() as file:
                return self._file(file.file)

    def _profile(self, profile: ProfileTransactions) -> dict[str, Any]:
        passes = []
        for number, each in enumerate(profile.passes, 1):
            size = _COUNT_BYTES if number == 1 else number * _ITEM_BYTES
            passes.append(
                {
                    "candidates": each.candidates,
                    "large": each.large,
                    "found": each.found,
                    "entries": each.found if each.entries is None else each.entries,
                    "entry_bytes": each.entry_size or size,
                    "scans": each.scans,
                }
            )
        return {"kind": "profile", "count": profile.count, "items": profile.items, "passes": passes}

    def _file(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        items: list[int] = []
        ends: list[int] = []
        try:
            for number, line in enumerate(read_bytes(path, _FILE_BYTES_MAX).splitlines(), 1):
                found = self._line(name, number, line)
                if found is None:
                    break
                items += found
                ends.append(len(items))
        except OSError as error:
            self._refuse("transactions.file", f"{name}: {(error.strerror or str(error)).lower()}")
        return {"kind": "list", "items": items, "ends": ends}

    def _line(self, name: str, number: int, line: bytes) -> list[int] | None:
        found: set[int] = set()
        for word in line.split():
            if not _ITEM.fullmatch(word) or int(word) > _ITEM_MAX:
                said = word[:20].decode("utf-8", "replace")
                message = f"{name}, line {number}: {said!r} is no item: 0 to {_ITEM_MAX} are"
                self._refuse("transactions.file", message)
                return None
            found.add(int(word))
        return sorted(found)

    def _refuse(self, field: str, message: str) -> None:
        self.findings.add((*self.loc, *field.split(".")), message)


def _costs(costs: MineCosts) -> dict[str, Any]:
    return {
        "transaction": parse_time(costs.transaction),
        "item": parse_time(costs.item),
        "generate": parse_time(costs.generate),
        "probe": parse_time(costs.probe),
        "disk": costs.disk,
        "io": parse_bytes(costs.io),
        "variation_ppm": round(costs.variation * 1_000_000),
    }
