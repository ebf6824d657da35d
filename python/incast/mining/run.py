"""Reads transactions and mines them on this machine."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Protocol

from incast import _core
from incast.errors import RunError
from incast.folder import MINE_MARKER
from incast.mining import text, words
from incast.mining.passes import KEPT_PASSES, keep
from incast.mining.request import Request, refuse
from incast.mining.result import MineResult
from incast.recording import Recording

if TYPE_CHECKING:
    from incast.mining.nodes import Nodes

_LOOK_S = 0.1
"""Between two looks at how far it is."""
TABLES = (".csv", ".csv.gz", ".parquet")


class Progress(Protocol):
    """How far mining is."""

    def of_pass(self) -> tuple[int, int]:
        """Transactions that the pass has looked at, and that it will have."""
        ...

    def passes(self) -> list[tuple[int, int | None, int, int]]:
        """The passes that are finished: number, candidates, large itemsets, scans."""
        ...


class Watch:
    """Is told how mining goes; by itself it shows nothing."""

    def reading(self, size: int) -> None:
        """A file of so many bytes is read."""

    def read(self, size: int) -> None:
        """So many bytes of it have been read."""

    def mining(self, transactions: int, progress: Progress) -> None:
        """So many transactions are mined: called again and again, until all passes are done."""

    def warn(self, message: str) -> None:
        """Something that one should know while it goes on."""
        warnings.warn(message, stacklevel=2)


def run(
    data: Any,
    request: Request,
    watch: Watch | None = None,
    folder: Path | None = None,
    recording: Recording | None = None,
) -> MineResult:
    """The large itemsets of `data`: a file, a frame, or collections of items.

    Passes that are finished are kept in `folder` when it does not come to its end, until the result has been
    written there. What nodes say meanwhile goes to a recording.
    """
    try:
        return _run(data, request, watch or Watch(), folder, recording)
    except _core.MineOverflowError as error:
        raise RunError(str(error)) from None


def _run(
    data: Any, request: Request, watch: Watch, folder: Path | None, recording: Recording | None
) -> MineResult:
    core = _core.MineTransactions(request.memory, None if folder is None else str(folder))
    names = _read(data, core, request, watch)
    transactions = core.transactions()
    if not transactions:
        refuse("there is no transaction in it", file=data if isinstance(data, str | Path) else "")
    minimum = _core.mine_minimum(request.support, transactions)
    spread: Nodes | None = None
    if request.spread:
        from incast.mining.nodes import Nodes

        spread = Nodes(core, minimum, request, watch, folder, recording or Recording(None, MINE_MARKER))
        del core
        found = spread.mine()
    else:
        found = _mined(core, minimum, request, watch, folder)
    return MineResult(found, names, request, minimum, spread)


def _read(data: Any, core: _core.MineTransactions, request: Request, watch: Watch) -> list[Any] | None:
    """Takes the transactions to `core`; the names of their items, where they are no numbers."""
    if isinstance(data, str | Path):
        file = Path(data)
        if file.name.endswith(TABLES):
            from incast.mining import tables

            return tables.read(file, core, request.memory)
        text.read(file, core, watch.reading, watch.read)
        return None
    from incast.mining import tables

    if hasattr(data, "collect"):  # A frame that Polars has yet to read.
        data = data.collect()
    if hasattr(data, "columns"):
        if set(tables.LONG) <= set(data.columns):
            import polars as pl

            if isinstance(data, pl.DataFrame):
                return tables.long_form(data, core)
            return tables.long_frame(data, core)
        return tables.one_hot(data, core)
    if isinstance(data, Iterable):
        return tables.collections(data, core)
    return refuse(f"{type(data).__name__}: a file, a frame or collections of items are allowed")


def _mined(
    core: _core.MineTransactions, minimum: int, request: Request, watch: Watch, folder: Path | None
) -> _core.MineItemsets:
    """In a thread of its own, so that this one sees Ctrl-C."""
    transactions = core.transactions()
    progress = _core.MineProgress()
    found: list[_core.MineItemsets | None] = []
    failed: list[BaseException] = []
    # A thread that Ctrl-C finds in `join` is taken to be over before it is.
    over = Event()
    begun = None if folder is None else str(folder / KEPT_PASSES)

    def mine() -> None:
        try:
            found.append(
                core.mine(minimum, request.longest, request.memory, request.threads, progress, begun)
            )
        except BaseException as error:  # It is raised again where somebody can handle it.
            failed.append(error)
        finally:
            over.set()

    thread = Thread(target=mine, name="mine")
    thread.start()
    warned = False
    try:
        while not over.is_set():
            over.wait(_LOOK_S)
            watch.mining(transactions, progress)
            outlook = progress.outlook()
            if outlook and not warned:
                warned = True
                watch.warn(words.many(*outlook))
    except BaseException:
        progress.stop()
        over.wait()
        _keep(progress, folder)
        raise
    if failed and isinstance(failed[0], _core.MineFullError):
        length, before = failed[0].args
        outlook = progress.outlook()
        most = outlook[2] if outlook else None
        kept = "; the result's folder keeps what was finished" if _keep(progress, folder) else ""
        raise RunError(words.full(length, before, most, request.memory) + kept)
    if failed:
        raise failed[0]
    itemsets = found[0]
    assert itemsets is not None, "nobody asked it to stop"
    return itemsets


def _keep(progress: _core.MineProgress, folder: Path | None) -> bool:
    """Keeps the passes that are finished, for a run that goes on from there; whether any are kept."""
    if folder is None:
        return False
    if progress.is_begun():
        with suppress(OSError):
            keep(lambda file: progress.keep(str(file)), folder)
    # They may also be an earlier run's, which had more memory.
    return (folder / KEPT_PASSES).is_file()
