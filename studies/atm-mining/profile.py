"""Writes profile.json: passes of the real miner on data close to those of the paper.

    incast generate quest hpa.txt --like hpa-table2
    python studies/atm-mining/profile.py hpa.txt 10 > studies/atm-mining/profile.json

The second argument says how many times as many transactions the run has. Candidates and large itemsets are
those of the miner; here it is counted how often candidates are found in transactions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np

import incast

_SUPPORT = 0.007
_NODES = 100
_Large = set[frozenset[int]]


def candidates(large: _Large) -> list[frozenset[int]]:
    """Of one item more: those of which all that lack an item are large (Apriori)."""
    joined = {a | b for a, b in combinations(large, 2) if len(a | b) == len(a) + 1}
    return [each for each in joined if all(each - {item} in large for item in each)]


def occurrences(sought: Iterable[frozenset[int]], holders: dict[int, np.ndarray]) -> int:
    """How many transactions hold them, summed."""
    return sum(int(np.logical_and.reduce([holders[item] for item in each]).sum()) for each in sought)


def main(file: str, times: int) -> None:
    """Reads the transactions, mines them, and says what the passes are."""
    lines = Path(file).read_bytes().splitlines()
    lengths = np.array([line.count(b" ") + 1 for line in lines])
    items = np.array(b" ".join(lines).split(), dtype=np.int64)
    at = np.repeat(np.arange(len(lines)), lengths)
    found = incast.mine(file, support=_SUPPORT)
    levels: dict[int, _Large] = {}
    for itemset in found.itemsets["itemsets"].to_list():
        levels.setdefault(len(itemset), set()).add(frozenset(itemset))
    single = {item for (item,) in levels[1]}
    kept = np.bincount(at[np.isin(items, list(single))], minlength=len(lines))
    frequent = {item for each in levels[2] for item in each}
    holders = {item: np.bincount(at[items == item], minlength=len(lines)) > 0 for item in frequent}
    # A node sends the owners a count of each item that it has.
    passes: list[dict[str, int]] = [
        {"large": len(single), "found": len(items) * times, "entries": len(np.unique(items)) * _NODES}
    ]
    pairs = int((kept * (kept - 1) // 2).sum())
    passes.append({"candidates": comb(len(single), 2), "large": len(levels[2]), "found": pairs * times})
    length = 2
    while sought := candidates(levels.get(length, set())):
        length += 1
        often = occurrences(sought, holders) * times
        passes.append({"candidates": len(sought), "large": len(levels.get(length, set())), "found": often})
    profile = {"kind": "profile", "count": len(lines) * times, "items": len(items) * times, "passes": passes}
    print(json.dumps(profile, indent=1))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
