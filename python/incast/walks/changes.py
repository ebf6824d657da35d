"""Edges that come and go while walks run, as people write them: rows of `at,change,source,target[,weight]`.

`at` is a time since walks began (`1.5s`), or how many walks have finished by then (`20000`); an empty one
means at once. Rows that follow each other with the same `at` are applied together. A file is read and checked
before walks begin; standard input and a pipe are read as rows come: there a bad row is told and passed over.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn, TypeAlias

from incast.bounded import lines, read_bytes
from incast.errors import Problem, ScenarioError, why
from incast.quantity import parse_time, parse_whole
from incast.walks.graph import WEIGHT, Graph, possible
from incast.walks.problem import refuse

Said: TypeAlias = str | Path | Iterable[Sequence[Any]]

COLUMNS = ("at", "change", "source", "target")
_FILE_BYTES_MAX = 256_000_000
_SHOWN = 5
"""Bad rows that are told."""


@dataclass
class Batch:
    """Changes that are applied together."""

    at_ps: int | None
    """When, since walks began; nothing: see `walks`."""
    walks: int
    """When so many walks have finished; 0 means at once."""
    add: list[tuple[int, int, float | None]] = field(default_factory=list)
    remove: list[tuple[int, int]] = field(default_factory=list)

    def spec(self) -> dict[str, Any]:
        """The batch as the core reads it."""
        return {"at": self.at_ps or 0, "set": self.add, "remove": self.remove}

    def nodes(self) -> set[int]:
        """The nodes that it names."""
        edges = [*((source, target) for source, target, _ in self.add), *self.remove]
        return {node for edge in edges for node in edge}


def _time(batch: Batch) -> int:
    return batch.at_ps or 0


def _walks(batch: Batch) -> int:
    return batch.walks


class Changes:
    """The changes of a run, each handed out once, when its time has come."""

    def __init__(self, batches: Iterable[Batch] = ()) -> None:
        batches = list(batches)
        self.by_time = deque(sorted((b for b in batches if b.at_ps is not None), key=_time))
        self.by_walks = deque(sorted((b for b in batches if b.at_ps is None), key=_walks))
        self.applied = 0

    def due(self, now_ps: int, walks: int) -> list[Batch]:
        """What has come due after so long, and so many finished walks."""
        found = []
        while self.by_time and (self.by_time[0].at_ps or 0) <= now_ps:
            found.append(self.by_time.popleft())
        while self.by_walks and self.by_walks[0].walks <= walks:
            found.append(self.by_walks.popleft())
        self.applied += len(found)
        return found

    def walks_until(self, walks: int) -> int:
        """How many more walks are to finish before the next batch that waits for walks."""
        return self.by_walks[0].walks - walks if self.by_walks else 2**63

    def add(self, batch: Batch) -> None:
        """One more, read while walks run."""
        if batch.at_ps is None:
            self.by_walks = deque(sorted((*self.by_walks, batch), key=_walks))
        else:
            self.by_time = deque(sorted((*self.by_time, batch), key=_time))


class Stream(Changes):
    """Changes from a pipe, read in a thread of their own."""

    def __init__(self, pipe: Path | None, row: Callable[[int, Sequence[str]], Batch]) -> None:
        """From a named pipe, or from standard input."""
        super().__init__()
        self._lock = threading.Lock()
        self._rows = deque[Batch]()
        self._row = row
        threading.Thread(target=self._listen, args=(pipe,), daemon=True, name="incast-changes").start()

    def due(self, now_ps: int, walks: int) -> list[Batch]:
        """The same, with what has been read since."""
        with self._lock:
            read = [self._rows.popleft() for _ in range(len(self._rows))]
        for batch in read:
            self.add(batch)
        return super().due(now_ps, walks)

    def _listen(self, pipe: Path | None) -> None:
        if pipe is None:
            return self._read(sys.stdin)
        # Waits until somebody writes.
        with pipe.open(encoding="utf-8", errors="replace", newline="") as stream:
            return self._read(stream)

    def _read(self, stream: IO[str]) -> None:
        rows = csv.reader(lines(stream))
        try:
            for row in rows:
                if row and tuple(row[:4]) != COLUMNS:
                    self._take(rows.line_num, row)
        except (OSError, csv.Error) as error:
            print(
                f"warning: line {rows.line_num + 1}: {why(error)}: no more changes are read", file=sys.stderr
            )

    def _take(self, number: int, row: Sequence[str]) -> None:
        try:
            batch = self._row(number, row)
        except ScenarioError as error:
            print(f"warning: {error}: passed over", file=sys.stderr)
            return
        with self._lock:
            self._rows.append(batch)


def read(said: Said | None, graph: Graph, reverse: bool = False) -> Changes:
    """The changes that people ask for; with `reverse`, of the graph with its arcs turned around."""
    if said is None:
        return Changes()
    rows = _Rows(graph, reverse)
    if isinstance(said, str | Path):
        rows.file = "standard input" if str(said) == "-" else str(said)
        if str(said) == "-":
            return Stream(None, rows.batch)
        try:
            if stat.S_ISFIFO(Path(said).stat().st_mode):
                return Stream(Path(said), rows.batch)
            text = read_bytes(Path(said), _FILE_BYTES_MAX).decode("utf-8", "replace")
            return Changes(_together(rows.of_file(io.StringIO(text, newline=""))))
        except OSError as error:
            refuse(why(error), file=said)
    return Changes(_together(rows.batch(number, list(row)) for number, row in enumerate(said, 1)))


def _together(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Rows that follow each other with the same `at` as one batch."""
    for (at_ps, walks), several in itertools.groupby(batches, key=lambda batch: (batch.at_ps, batch.walks)):
        whole = Batch(at_ps, walks)
        last: dict[tuple[int, int], Batch] = {}
        # Of several changes of an edge in a batch the last counts.
        for batch in several:
            edge = batch.add[0][:2] if batch.add else batch.remove[0]
            last.pop(edge, None)
            last[edge] = batch
        for batch in last.values():
            whole.add += batch.add
            whole.remove += batch.remove
        yield whole


@dataclass
class _Rows:
    """Reads rows, and says what is wrong with them."""

    graph: Graph
    reverse: bool
    file: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    """Of nodes, by name, where they are known already."""

    def of_file(self, file: IO[str]) -> Iterator[Batch]:
        """The rows of a file; all that is wrong with the first five bad ones."""
        rows = csv.reader(file)
        header = next(rows, None)
        wanted = [*COLUMNS, *(["weight"] if self.graph.core.weighted() else [])]
        if header is None or [word.strip() for word in header[: len(wanted)]] != wanted:
            refuse(f"the first line is to be {','.join(wanted)}", file=self.file, line=1)
        numbered = [(rows.line_num, row) for row in rows if row]
        self._look_up({word.strip() for _, row in numbered for word in row[2:4]})
        wrong: list[Problem] = []
        for number, row in numbered:
            try:
                yield self.batch(number, row)
            except ScenarioError as error:
                wrong += error.problems
            if len(wrong) >= _SHOWN:
                break
        if wrong:
            raise ScenarioError(wrong)

    def _look_up(self, names: set[str]) -> None:
        """All names at once; if one is wrong they are looked up row by row, to say which."""
        with contextlib.suppress(ScenarioError):
            self.numbers = dict(zip(names, self.graph.find(list(names), "").tolist(), strict=True))

    def batch(self, number: int, row: Sequence[Any]) -> Batch:
        """A row's change."""
        words = [str(word).strip() for word in row]
        weighted = self.graph.core.weighted()
        if not 4 <= len(words) <= 5:
            self._bad(number, words, f"{','.join(COLUMNS)}{',weight' if weighted else ''} are expected")
        at, change = words[0], words[1]
        batch = Batch(*self._at(number, words, at))
        source, target = (self._node(number, words, word) for word in words[2:4])
        if self.reverse:
            source, target = target, source
        if not self.graph.core.directed() and source > target:
            source, target = target, source
        if change == "remove":
            batch.remove.append((source, target))
        elif change == "add":
            weight = words[4] if len(words) == 5 and words[4] else None
            batch.add.append((source, target, self._weight(number, words, weight)))
        else:
            self._bad(number, words, f"{change!r} is not a change: add and remove are allowed")
        return batch

    def _at(self, number: int, words: list[str], at: str) -> tuple[int | None, int]:
        if not at:
            return None, 0
        if (walks := parse_whole(at)) is not None:
            return None, walks
        try:
            return parse_time(at), 0
        except ValueError:
            self._bad(number, words, f"{at!r} is neither a time, like 500ms, nor a number of walks")

    def _node(self, number: int, words: list[str], name: str) -> int:
        if name in self.numbers:
            return self.numbers[name]
        try:
            return int(self.graph.find([name], "")[0])
        except ScenarioError as error:
            self._bad(number, words, error.problems[0].message)

    def _weight(self, number: int, words: list[str], said: str | None) -> float | None:
        if not self.graph.core.weighted():
            if said is not None:
                self._bad(number, words, "the graph has no weights (--weighted)")
            return None
        try:
            weight = float(said or "nan")
        except ValueError:
            weight = float("nan")
        if not possible(weight):
            self._bad(number, words, f"weight {said!r}: {WEIGHT}")
        return weight

    def _bad(self, number: int, words: list[str], what: str) -> NoReturn:
        shown = ",".join(words)
        path = "" if self.file else f"changes[{number - 1}]"
        refuse(f"{shown[:60]!r}: {what}", path, self.file, number if self.file else None)
