"""How much memory is to be local."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Size"]


@dataclass(frozen=True, slots=True)
class Size:
    """Local memory: bytes, or a share of what the program has in use at most."""

    said: str
    """As it was written."""
    bytes: int | None = None
    share: float | None = None

    def of(self, footprint: int) -> int:
        """Its bytes for a program with this footprint."""
        return self.bytes if self.bytes is not None else round((self.share or 0) * footprint)
