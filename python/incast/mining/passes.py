"""Finished passes of a run that did not come to its end, in the result's folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

KEPT_PASSES = ".passes"
"""What finished passes found, when a run does not come to its end."""


def keep(write: Callable[[Path], None], folder: Path) -> None:
    """Finished passes go to the result's folder; `write` writes them to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{KEPT_PASSES}.tmp"
    try:
        write(part)
        part.replace(folder / KEPT_PASSES)
    finally:
        part.unlink(missing_ok=True)
