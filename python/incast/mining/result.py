"""What was found, as frames: Polars', with mlxtend's column names, or pandas' as mlxtend returns them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from incast import _core
from incast.mining.request import Request, refuse

if TYPE_CHECKING:
    import polars as pl

    from incast.mining.nodes import Nodes

METRICS = _core.MINE_MEASURES
"""Columns of rules behind the antecedents and consequents."""


class MineResult:
    """Large itemsets and rules; frames are made when they are asked for."""

    def __init__(
        self,
        core: _core.MineItemsets,
        names: list[Any] | None,
        request: Request,
        minimum: int,
        spread: Nodes | None = None,
    ) -> None:
        self.core = core
        self.names = names
        """Of items that are no numbers."""
        self.request = request
        self.minimum = minimum
        """Transactions that hold a large itemset, at least."""
        self.transactions = core.transactions()
        self.spread = spread
        """The run over nodes, if it was one."""

    @cached_property
    def kept(self) -> _core.MineItemsets:
        """Those itemsets that were asked for: all, closed or maximal ones."""
        return self.core if self.request.kind == "all" else self.core.condensed(self.request.kind)

    @cached_property
    def found_rules(self) -> _core.MineRules | None:
        """The rules, where a confidence was asked for."""
        return None if self.request.confidence is None else self.core.rules(self.request.confidence)

    @property
    def passes(self) -> list[dict[str, Any]]:
        """What each pass did: its number, candidates, large itemsets, scans of the transactions.

        Of nodes, also the bytes that all of them sent, and seconds.
        """
        if self.spread is not None:
            return self.spread.board.finished()
        keys = ("pass", "candidates", "large", "scans")
        return [dict(zip(keys, each, strict=True)) for each in self.core.passes()]

    @cached_property
    def itemsets(self) -> pl.DataFrame:
        """Itemsets with the columns support, itemsets (lists) and count; by length, then by items."""
        return self._itemsets(self.kept)

    def maximal(self) -> pl.DataFrame:
        """Itemsets that are in no other large itemset."""
        return self._itemsets(self.core.condensed("maximal"))

    def closed(self) -> pl.DataFrame:
        """Itemsets that are in no other itemset with the same count."""
        return self._itemsets(self.core.condensed("closed"))

    @cached_property
    def rules(self) -> pl.DataFrame:
        """Rules: antecedents and consequents (lists), and mlxtend's measures."""
        if self.found_rules is None:
            refuse("rules need a minimum confidence", "confidence")
        return self._rules(self.found_rules)

    def frequent_itemsets(self, *, use_colnames: bool = True) -> Any:
        """A pandas frame as mlxtend returns it: support, and itemsets as frozensets of names or numbers."""
        import pandas as pd

        names = self.names if use_colnames else None
        frame = self._itemsets(self.kept, named=False)
        itemsets = [_frozen(items, names) for items in frame["itemsets"].to_list()]
        return pd.DataFrame({"support": frame["support"].to_list(), "itemsets": itemsets})

    def association_rules(self, metric: str = "confidence", min_threshold: float = 0.8) -> Any:
        """A pandas frame of rules as mlxtend returns it, whose `metric` is at least `min_threshold`."""
        import pandas as pd
        import polars as pl

        if metric not in METRICS:
            refuse(f"{metric!r}: {', '.join(METRICS)} are allowed", "metric")
        least = min_threshold if metric == "confidence" else 0.0
        frame = self._rules(self.core.rules(max(0.0, least)), named=False)
        frame = frame.filter(pl.col(metric) >= min_threshold)
        columns: dict[str, list[Any]] = {
            side: [_frozen(items, self.names) for items in frame[side].to_list()]
            for side in ("antecedents", "consequents")
        }
        return pd.DataFrame(columns | {name: frame[name].to_list() for name in METRICS})

    def _itemsets(self, core: _core.MineItemsets, *, named: bool = True) -> pl.DataFrame:
        import polars as pl

        ends, items, counts = core.columns()
        count = _numbers(counts, "<u8")
        # Polars multiplies by a reciprocal, which is not always the nearest quotient.
        support = pl.Series("support", count / self.transactions)
        itemsets = self._lists("itemsets", ends, items, named)
        return pl.DataFrame([support, itemsets, pl.Series("count", count)])

    def _rules(self, core: _core.MineRules, *, named: bool = True) -> pl.DataFrame:
        import polars as pl

        sides, measures = core.columns()
        columns = [
            self._lists(name, *side, named)
            for name, side in zip(("antecedents", "consequents"), sides, strict=True)
        ]
        for name, values in zip(METRICS, measures, strict=True):
            columns.append(pl.Series(name, _numbers(values, "<f8")))
        return pl.DataFrame(columns)

    def _lists(self, name: str, ends: bytes, items: bytes, named: bool) -> pl.Series:
        """A list a row, of names where items have some."""
        import numpy as np
        import polars as pl

        lengths = np.diff(_numbers(ends, "<u8"), prepend=np.uint64(0))
        flat = pl.Series(name, _numbers(items, "<u4"))
        if named and self.names is not None:
            flat = pl.Series(name, [str(each) for each in self.names], pl.String).gather(flat)
        row = pl.Series("row", np.repeat(np.arange(len(lengths)), lengths.astype(np.int64)))
        return pl.DataFrame([row, flat]).group_by("row", maintain_order=True).agg(name)[name]


def _numbers(data: bytes, kind: str) -> Any:
    import numpy as np

    return np.frombuffer(data, dtype=kind)


def _frozen(items: list[int], names: list[Any] | None) -> frozenset[Any]:
    return frozenset(items if names is None else (names[item] for item in items))
