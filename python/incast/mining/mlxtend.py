"""`apriori` and `fpgrowth` as mlxtend has them: one-hot frame in, pandas frame of itemsets out.

Code that was written for mlxtend imports them from here and goes on working; mlxtend's `association_rules`
takes what they return, and `incast.mine` makes rules too. Frames with missing values are refused.
"""

from __future__ import annotations

from typing import Any

from incast.arguments import Small, checked
from incast.mining.request import Request, make, refuse
from incast.mining.result import MineResult
from incast.mining.run import run

__all__ = ["apriori", "fpgrowth"]


@checked()
def apriori(
    df: Any,
    min_support: float = 0.5,
    use_colnames: bool = False,
    max_len: Small | None = None,
    verbose: int = 0,
    low_memory: bool = False,
) -> Any:
    """Itemsets in at least `min_support` of the rows: a frame with the columns support and itemsets."""
    del verbose, low_memory  # It shows nothing, and takes little memory in any case.
    return _mined(df, make(min_support, longest=max_len), use_colnames)


@checked()
def fpgrowth(
    df: Any,
    min_support: float = 0.5,
    null_values: bool = False,
    use_colnames: bool = False,
    max_len: Small | None = None,
    verbose: int = 0,
) -> Any:
    """As `apriori`: the same itemsets."""
    del verbose
    if null_values:
        refuse("frames with missing values can't be mined", "null_values")
    return _mined(df, make(min_support, longest=max_len), use_colnames)


def _mined(df: Any, request: Request, use_colnames: bool) -> Any:
    found: MineResult = run(df, request)
    if not found.core.len():
        import pandas as pd

        # mlxtend returns an empty frame where nothing is large.
        return pd.DataFrame({"support": [], "itemsets": []})
    return found.frequent_itemsets(use_colnames=use_colnames)
