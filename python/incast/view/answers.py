"""What a page may ask, and the answers, whatever carries them: JSON, or arrays of 32-bit floats.

Every question is one of a few words with named texts. Wrong ones are answered in words.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from incast._version import __version__
from incast.view import places
from incast.view.facts import facts, samples
from incast.view.kinds import followed, opened
from incast.view.pyramid import CELLS_MAX
from incast.view.run import Run, Signature, UnknownError

WIDTHS = (360, 640, 960)
"""Widths for which networks are laid out: on a phone, in half a screen, on a whole one."""
_NUMBER_MAX = 2**62


class WrongError(ValueError):
    """A question that makes no sense; its text says what is allowed."""


@dataclass(frozen=True)
class Answer:
    """The bytes of an answer, and whether they are JSON or an array."""

    body: bytes
    is_json: bool


class Answers:
    """Answers questions about the runs in some folders, as they are on disk at that moment."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self._runs: dict[str, tuple[Signature, Run]] = {}
        self._lock = threading.RLock()

    def ask(self, what: str, said: Mapping[str, str]) -> Answer:
        """The answer; raises `WrongError` and `UnknownError`."""
        asked = {
            "runs": self._listed,
            "facts": self._facts,
            "network": self._network,
            "samples": self._samples,
            "cells": self._cells,
            "follow": self._follow,
        }
        if what not in asked:
            raise WrongError(f"There is no answer to {what!r}.")
        with self._lock:
            return asked[what](said)

    def _listed(self, _: Mapping[str, str]) -> Answer:
        """Every run, and what changes when a run does."""
        known = {place.name: self._run(place) for place in places.runs(self._roots)}
        self._runs = {name: run for name, run in self._runs.items() if name in known}
        listed = [
            {"name": run.name, "version": crc32(repr(signature).encode()), "in_progress": run.in_progress}
            for signature, run in known.values()
        ]
        return _json({"incast": __version__, "runs": listed, "second": self._second(listed)})

    def _second(self, listed: Sequence[Mapping[str, Any]]) -> str | None:
        """The run to show next to the first: the first of the second folder, if there are two."""
        if len(self._roots) < 2:
            return None
        at = len(places.runs(self._roots[:1]))
        return str(listed[at]["name"]) if at < len(listed) else None

    def _facts(self, said: Mapping[str, str]) -> Answer:
        return _json(facts(self._named(said)))

    def _samples(self, said: Mapping[str, str]) -> Answer:
        return _json(samples(self._named(said)))

    def _network(self, said: Mapping[str, str]) -> Answer:
        width = _number(said, "width", max(WIDTHS))
        if width not in WIDTHS:
            raise WrongError(f"A width of {width} is not allowed: {', '.join(map(str, WIDTHS))} are.")
        return _json(self._named(said).drawing(width))

    def _cells(self, said: Mapping[str, str]) -> Answer:
        """Measures by steps by ports, the longest queues first (`pyramid.MEASURES` without the least)."""
        pyramid = self._named(said).pyramid
        level, first, count = (_number(said, name, _NUMBER_MAX) for name in ("level", "first", "count"))
        if not pyramid.ports or level >= len(pyramid.levels) or first >= pyramid.levels[level].steps:
            raise WrongError("The run has no such samples.")
        if count > 1 and count * len(pyramid.ports) > CELLS_MAX:
            raise WrongError(
                f"{count} steps of {len(pyramid.ports)} ports: at most {CELLS_MAX} cells are allowed."
            )
        return Answer(np.ascontiguousarray(pyramid.cells(level, first, count)[1:], "<f4").tobytes(), False)

    def _follow(self, said: Mapping[str, str]) -> Answer:
        kind, run = said.get("kind", ""), self._named(said)
        if kind not in run.words.kinds:
            raise WrongError(f"{kind!r} can't be followed: {', '.join(run.words.kinds)} can.")
        return _json(followed(run, kind, said.get("name", "")))

    def _named(self, said: Mapping[str, str]) -> Run:
        name = said.get("run", "")
        place = next((each for each in places.runs(self._roots) if each.name == name), None)
        if place is None:
            raise UnknownError(f"There is no run {name}: it was moved or removed.")
        return self._run(place)[1]

    def _run(self, place: places.Place) -> tuple[Signature, Run]:
        """What is known of the run, unless its files have changed since."""
        fresh = opened(place)
        signature = fresh.signature()
        known = self._runs.get(place.name)
        if known is None or known[0] != signature or known[1].problem != fresh.problem:
            self._runs[place.name] = known = (signature, fresh)
        return known


def _number(said: Mapping[str, str], name: str, most: int) -> int:
    written = said.get(name, "")
    if not written.isdecimal() or len(written) > 20 or int(written) > most:
        raise WrongError(f"{name}={written!r} is not allowed: a whole number up to {most} is.")
    return int(written)


def _json(content: Any) -> Answer:
    return Answer(
        json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(), True
    )
