"""Lanes for what overlaps in time, so that what shares a lane does not: interval partitioning.

Each takes the lowest free lane in the order of the starts, which needs as few lanes as there can be.
"""

import heapq

import polars as pl


def lanes(tasks: pl.DataFrame, end: int) -> pl.DataFrame:
    """`tasks` with `stop_ps` and `lane`, a number from 0 within each host, in the order of lanes and starts.

    What has no `end_ps` holds its lane to `end`.
    """
    ordered = tasks.with_columns(stop_ps=pl.max_horizontal("start_ps", pl.col("end_ps").fill_null(end))).sort(
        "host", "start_ps", "stop_ps", "task"
    )
    taken: list[int] = []
    for part in ordered.partition_by("host", maintain_order=True):
        taken += _partition(part["start_ps"].to_list(), part["stop_ps"].to_list())
    return ordered.with_columns(lane=pl.Series(taken, dtype=pl.Int64)).sort(
        "host", "lane", "start_ps", "stop_ps", "task"
    )


def _partition(starts: list[int], stops: list[int]) -> list[int]:
    """The lane of each interval; they come in the order of their starts."""
    running: list[tuple[int, int]] = []
    free: list[int] = []
    taken = []
    for start, stop in zip(starts, stops, strict=True):
        while running and running[0][0] <= start:
            heapq.heappush(free, heapq.heappop(running)[1])
        lane = heapq.heappop(free) if free else len(running)
        heapq.heappush(running, (stop, lane))
        taken.append(lane)
    return taken
