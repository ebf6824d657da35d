"""How evenly ECMP's ways were used: the bytes of each port among those that lead to the same hosts.

A way's bytes are all that its port sent, as an operator reads them off the members of a group. Where groups
overlap, as in irregular networks, a port counts with all its bytes in each of them.

Sources: Jain, Chiu & Hawe 1984 (the index); Pearce et al. 2012 (the largest load by the mean, less one, as
"percent imbalance").
"""

from __future__ import annotations

import polars as pl

from incast.network import Tables

KEYS = ("node", "group")
"""What names a group."""


def evenness(sent: str) -> list[pl.Expr]:
    """`jain`, Jain's fairness index of the ways' bytes, and `largest`, the largest by the even share.

    Both are 1 where all ways are equal. If one of n has everything, they are 1/n and n.
    """
    each = pl.col(sent).cast(pl.Float64)
    total = each.sum().replace(0.0, None)
    jain = total**2 / (pl.len() * (each**2).sum())
    return [jain.alias("jain"), (each.max() * pl.len() / total).alias("largest")]


def ways(table: Tables) -> pl.DataFrame:
    """Every way: `node`, `group`, `port`, `destinations`, `sent_bytes`, its `share` of the group's bytes."""
    share = pl.col("sent_bytes") / pl.col("sent_bytes").sum().over(KEYS).replace(0, None)
    found = table("ways").join(table("ports").select("port", "sent_bytes"), on="port", how="left")
    return found.with_columns(share=share).sort(*KEYS, "port")


def groups(table: Tables) -> pl.DataFrame:
    """Every group: how many `ways`, their bytes, `jain`, `largest` and its port; the least even first.

    Groups that sent nothing come last.
    """
    return (
        ways(table)
        .group_by(KEYS)
        .agg(
            pl.len().alias("ways"),
            pl.col("destinations").first(),
            pl.col("sent_bytes").sum().alias("total_bytes"),
            *evenness("sent_bytes"),
            pl.col("port").sort_by("sent_bytes", descending=True, maintain_order=True).first().alias("port"),
        )
        .rename({"total_bytes": "sent_bytes", "port": "largest_port"})
        .sort("jain", *KEYS, nulls_last=True)
    )


def flows(table: Tables) -> pl.DataFrame:
    """How many flows sent their data over each `port`."""
    path = pl.col("path").cast(pl.String).str.split(" ")
    return table("flows").select(port=path).explode("port").drop_nulls().group_by("port").len("flows")


def over_time(table: Tables) -> pl.DataFrame:
    """Every sample of a group whose ways are all sampled: `time_ps`, `sent_bytes`, `jain`, `largest`."""
    members = table("ways").with_columns(ways=pl.len().over(KEYS))
    samples = table("ports_series").select("time_ps", "port", "sent_bytes")
    return (
        members.join(samples, on="port")
        .group_by("time_ps", *KEYS)
        .agg(
            pl.col("sent_bytes").sum().alias("total_bytes"),
            *evenness("sent_bytes"),
            whole=pl.len() == pl.col("ways").first(),
        )
        .filter("whole")
        .drop("whole")
        .rename({"total_bytes": "sent_bytes"})
        .sort(*KEYS, "time_ps")
    )
