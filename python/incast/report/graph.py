"""The network's nodes and links, from the ports table."""

from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from incast.text import natural_key


class Port(NamedTuple):
    """One direction of a link, named as in the tables."""

    name: str
    node: str
    peer: str
    rate_bps: int


@dataclass(frozen=True)
class Graph:
    """Nodes with their tier (0: hosts, 1: switches with hosts, …) and the ports between them."""

    tiers: dict[str, int]
    ports: tuple[Port, ...]
    neighbours: dict[str, tuple[str, ...]]

    @property
    def top(self) -> int:
        """The highest tier."""
        return max(self.tiers.values(), default=0)


def graph(table: pl.DataFrame, hosts: frozenset[str]) -> Graph:
    """The topology of a run with that table of ports, in natural order of names."""
    known = table.select(pl.col("port", "node", "peer").cast(pl.String), pl.col("rate_bps").fill_null(0))
    known = known.drop_nulls()
    names = sorted({*known["node"].unique(), *known["peer"].unique()}, key=natural_key)
    place = pl.DataFrame(enumerate(names), schema={"place": pl.Int64, "name": pl.String}, orient="row")
    placed = known.join(place.rename({"name": "node", "place": "from"}), on="node")
    placed = placed.join(place.rename({"name": "peer", "place": "to"}), on="peer")
    # Parallel links have numbers in their names.
    placed = placed.sort("from", "to", pl.col("port").str.len_chars(), "port")
    ports = map(Port, *(placed[column] for column in ("port", "node", "peer", "rate_bps")))
    ways = placed.select("from", "to")
    ways = pl.concat([ways, ways.select(pl.col("to").alias("from"), pl.col("from").alias("to"))]).unique()
    near = ways.sort("from", "to").group_by("from", maintain_order=True).agg("to")
    neighbours = {names[node]: tuple(names[other] for other in others) for node, others in near.iter_rows()}
    return Graph(_tiers(neighbours, hosts), tuple(ports), neighbours)


def _tiers(neighbours: dict[str, tuple[str, ...]], ends: frozenset[str]) -> dict[str, int]:
    """A node's distance from the nearest host; without hosts, all are of tier 1."""
    tiers = {node: 0 for node in neighbours if node in ends}
    wave = list(tiers)
    while wave:
        wave = list(dict.fromkeys(n for node in wave for n in neighbours[node] if n not in tiers))
        for node in wave:
            tiers[node] = 1 + min(tiers[n] for n in neighbours[node] if n in tiers)
    return {node: tiers.get(node, 1) for node in neighbours}
