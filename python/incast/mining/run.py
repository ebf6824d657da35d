"""Reads transactions and mines them on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

from incast import _core
from incast.mining import output, text
from incast.mining.problem import Plan, refuse
from incast.mining.result import MineResult

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


def run(source: Any, plan: Plan, watch: Watch | None = None, folder: Path | None = None) -> MineResult:
    """The large itemsets of `source`: a file, a frame, or collections of items.

    Passes that are finished are kept in `folder` when it does not come to its end, until the result has been
    written there.
    """
    watch = watch or Watch()
    core, names = _read(source, watch)
    transactions = core.transactions()
    if not transactions:
        refuse("there is no transaction in it", file=source if isinstance(source, str | Path) else "")
    minimum = _core.mine_minimum(plan.support, transactions)
    spread: Nodes | None = None
    if plan.spread:
        from incast.mining.nodes import Nodes

        spread = Nodes(core, minimum, plan, watch, folder)
        del core
        found = spread.mine()
    else:
        found = _mined(core, minimum, plan, watch, folder)
    if not found.len():
        refuse(
            f"no item is in {minimum:,} or more of {transactions:,} transactions: choose a smaller one",
            "--support",
        )
    return MineResult(found, names, plan, minimum, spread)


def _read(source: Any, watch: Watch) -> tuple[_core.MineTransactions, list[Any] | None]:
    if isinstance(source, str | Path):
        file = Path(source)
        if file.name.endswith(TABLES):
            from incast.mining import tables

            return tables.read(file)
        return text.read(file, watch.reading, watch.read), None
    from incast.mining import tables

    if hasattr(source, "columns"):
        if set(tables.LONG) <= set(source.columns):
            import polars as pl

            long = (
                source
                if isinstance(source, pl.DataFrame)
                else pl.DataFrame({name: source[name].to_list() for name in tables.LONG})
            )
            return tables.long_form(long)
        return tables.one_hot(source)
    if isinstance(source, Iterable):
        return tables.collections(source)
    return refuse(f"{type(source).__name__}: a file, a frame or collections of items are allowed")


def _mined(
    core: _core.MineTransactions, minimum: int, plan: Plan, watch: Watch, folder: Path | None
) -> _core.MineItemsets:
    """In a thread of its own, so that this one sees Ctrl-C."""
    transactions = core.transactions()
    progress = _core.MineProgress()
    found: list[_core.MineItemsets | None] = []
    failed: list[BaseException] = []
    begun = b""
    if folder is not None:
        with suppress(OSError):
            begun = (folder / output.KEPT_PASSES).read_bytes()

    def mine() -> None:
        try:
            found.append(core.mine(minimum, plan.longest, plan.memory, plan.threads, progress, begun))
        except BaseException as error:  # It is raised again where somebody can handle it.
            failed.append(error)

    thread = Thread(target=mine, name="mine")
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_LOOK_S)
            watch.mining(transactions, progress)
    except BaseException:
        progress.stop()
        thread.join()
        kept = progress.kept()
        if folder is not None and kept is not None:
            with suppress(OSError):
                output.keep(kept, folder)
        raise
    if failed:
        raise failed[0]
    itemsets = found[0]
    assert itemsets is not None, "nobody asked it to stop"
    return itemsets
