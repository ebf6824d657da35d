"""Servers of random walks in words: walkers that they dropped, how losses were found, lengths of queues."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from incast import text
from incast.report.run import Run

CAUSES = {
    "drops_early": "by chance",
    "drops_forced": "at the upper threshold",
    "drops_full": "by full queues",
    "drops_wait": "late",
}


def sentences(run: Run) -> list[str]:
    """All of it; nothing where a run has no walks."""
    walks = run.table("walks")
    return [*_drops(walks), *_longest(run.table("walks_series"))] if walks.height else []


def _drops(walks: pl.DataFrame) -> Iterator[str]:
    dropped = pl.sum_horizontal([pl.col(name).fill_null(0) for name in CAUSES])
    walks = walks.with_columns(dropped=dropped).sort("dropped", "host", descending=[True, False])
    total = _sum(walks, "dropped")
    if not total:
        yield "No walker was dropped."
        return
    causes = {word: count for name, word in CAUSES.items() if (count := _sum(walks, name))}
    why = [f"{text.count(count)} {word}" for word, count in causes.items()]
    which = text.listed(why) if len(why) > 1 else f"all {next(iter(causes))}"
    yield (
        f"{text.plural(total, 'walker')} {'was' if total == 1 else 'were'} dropped ({which}), "
        f"{text.percent(walks['dropped'][0] / total)} of them at {walks['host'][0]}; "
        f"{text.count(_sum(walks, 'additional'))} were generated again."
    )
    yield (
        f"{text.percent(_sum(walks, 'drops_own') / total)} of the drops were where the walker was born; "
        f"given up at once because of that: {text.count(_sum(walks, 'lost_direct'))}, "
        f"by timeout: {text.count(_sum(walks, 'lost_timeout'))}."
    )


def _sum(walks: pl.DataFrame, name: str) -> int:
    return int(walks[name].sum())


def _longest(series: pl.DataFrame) -> Iterator[str]:
    queues = (
        series.drop_nulls("host")
        .group_by("host")
        .agg(pl.col("queue").mean(), pl.col("queue_max").max())
        .sort("queue", "host", descending=[True, False])
    )
    if queues.height:
        host, mean, most = queues.row(0)
        length = f"{text.digits(mean)} walkers on average, {text.count(most)} at most"
        yield f"The longest queue was at {host}: {length}."
