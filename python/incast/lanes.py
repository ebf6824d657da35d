"""Lanes for what overlaps in time: what shares a lane follows each other or lies within one another.

A task lies within another where both are of one job, host and number and the other's time holds its own, like
the shuffle of a reduce. The others take the lowest free lane in the order of their starts, which needs as few
lanes as there can be (interval partitioning).
"""

import heapq

import polars as pl


def lanes(tasks: pl.DataFrame, end: int) -> pl.DataFrame:
    """`tasks` with `stop_ps`, `lane` (from 0 within each host) and `depth`, in the order of lanes and starts.

    What has no `end_ps` holds its lane to `end`. Without a column `number` nothing lies within another.
    """
    stop = pl.max_horizontal("start_ps", pl.col("end_ps").fill_null(end))
    ordered = tasks.with_columns(stop_ps=stop).sort(
        "host", "start_ps", "stop_ps", "task", descending=[False, False, True, False]
    )
    roots, depths = _nested(ordered) if "number" in tasks.columns else (None, [0] * tasks.height)
    whole = ordered.with_columns(
        root=pl.Series(roots, dtype=pl.Int64) if roots else pl.int_range(pl.len()),
        depth=pl.Series(depths, dtype=pl.Int64),
    )
    taken: dict[int, int] = {}
    for part in whole.filter(pl.col("depth") == 0).partition_by("host", maintain_order=True):
        found = _partition(part["start_ps"].to_list(), part["stop_ps"].to_list())
        taken.update(zip(part["root"].to_list(), found, strict=True))
    lane = pl.Series([taken[root] for root in whole["root"]], dtype=pl.Int64)
    return (
        whole.with_columns(lane=lane)
        .sort("host", "lane", "start_ps", "root", "depth", "stop_ps")
        .drop("root")
    )


def _nested(ordered: pl.DataFrame) -> tuple[list[int], list[int]]:
    """For each row, the outermost row that holds it, and how deep it lies in it."""
    roots: list[int] = []
    depths: list[int] = []
    around: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    rows = ordered.select("host", "job", "number", "start_ps", "stop_ps").iter_rows()
    for index, (host, job, number, start, stop) in enumerate(rows):
        stack = around.setdefault((host, job, number), [])
        while stack and stack[-1][1] <= start:
            stack.pop()
        inside = bool(stack) and stop <= stack[-1][1]
        roots.append(roots[stack[-1][0]] if inside else index)
        depths.append(depths[stack[-1][0]] + 1 if inside else 0)
        if inside or not stack:
            stack.append((index, stop))
    return roots, depths


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
