"""Watermarks of a whole run: shared memory by switch, queues by port and class, what PFC held.

Source: the tables that SONiC shows for `show buffer_pool watermark`, `show headroom-pool watermark`, `show
queue watermark` and `show priority-group watermark`.
"""

from __future__ import annotations

import polars as pl

from incast.network import Tables


def pools(table: Tables) -> pl.DataFrame:
    """The `pools`, with the part of the shared memory that was in use at most; the fullest first."""
    used = pl.col("used_max_bytes") / pl.col("size_bytes").replace(0, None)
    return table("pools").with_columns(used_max=used).sort("used_max", "switch", descending=[True, False])


def queues(table: Tables) -> pl.DataFrame:
    """Switch ports with a queue: `port`, `queue_max_bytes`, and `classes` (`class`, `queue_max_bytes`).

    The longest come first. A port with one queue for all classes has no list of classes.
    """
    by_class = table("queues").filter(pl.col("queue_max_bytes") > 0).sort("class")
    classes = by_class.group_by("port", maintain_order=True).agg(
        classes=pl.struct("class", "queue_max_bytes")
    )
    ports = table("ports").filter((pl.col("kind") == "switch") & (pl.col("queue_max_bytes") > 0))
    return (
        ports.select("port", "queue_max_bytes")
        .join(classes, on="port", how="left")
        .sort("queue_max_bytes", "port", descending=[True, False])
    )


def groups(table: Tables) -> pl.DataFrame:
    """What PFC held by port and class of entry: the memory in all, and the headroom; the most first."""
    held = table("pauses").filter(pl.col("held_max_bytes") > 0)
    columns = ("port", "class", "held_max_bytes", "headroom_max_bytes")
    return held.select(columns).sort(
        "headroom_max_bytes", "held_max_bytes", "port", "class", descending=[True, True, False, False]
    )
