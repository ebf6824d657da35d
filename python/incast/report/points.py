"""Fewer points that look the same: series keep each bucket's extremes, CDFs their quantiles."""

import polars as pl

BUCKETS = 300
CDF_POINTS = 240


def extremes(series: pl.DataFrame, time: str, value: str, buckets: int = BUCKETS) -> pl.DataFrame:
    """The first, lowest, highest and last sample of each of `buckets` equal spans of time.

    A peak of one sample survives, so that a microburst is not averaged away.
    """
    series = series.drop_nulls([time, value]).sort(time)
    if series.height <= 4 * buckets:
        return series
    rows = series.with_row_index("row").with_columns(bucket=_bucket(series, time, buckets))
    ends = rows.group_by("bucket").agg(
        pl.col("row").first().alias("first"),
        pl.col("row").get(pl.col(value).arg_min()).alias("low"),
        pl.col("row").get(pl.col(value).arg_max()).alias("high"),
        pl.col("row").last().alias("last"),
    )
    kept = pl.concat([ends["first"], ends["low"], ends["high"], ends["last"]]).unique().sort()
    return series[kept]


def sums(series: pl.DataFrame, time: str, columns: list[str], buckets: int = BUCKETS) -> pl.DataFrame:
    """The sum of each column in each span of time, at the span's first sample with any."""
    series = series.drop_nulls([time]).sort(time)
    if not series.height:
        return series.select(time, *columns)
    return (
        series.with_columns(bucket=_bucket(series, time, buckets))
        .group_by("bucket", maintain_order=True)
        .agg(pl.col(time).first(), *(pl.col(c).sum() for c in columns))
        .select(time, *columns)
    )


def cdf(values: pl.Series, total: int, points: int = CDF_POINTS) -> pl.DataFrame:
    """(`x`, `part`): the part of `total` that is at most x, from 0 at the least; dense in the tail.

    `total` may exceed the number of values: what did not finish keeps the curve below 1.
    """
    ordered = values.drop_nulls().sort()
    count = ordered.len()
    if not count:
        return pl.DataFrame(schema={"x": values.dtype, "part": pl.Float64})
    ranks = _ranks(count, points)
    parts = [round((r + 1) / total, 6) for r in ranks]
    return pl.DataFrame({"x": ordered.gather([0, *ranks]), "part": [0.0, *parts]})


def weighted_cdf(values: pl.Series, weights: pl.Series) -> pl.DataFrame:
    """(`x`, `part`) of a histogram, from 0 at the least: `weights` packets in a bin that ends at `values`."""
    bins = pl.DataFrame({"x": values, "weight": weights}).group_by("x").agg(pl.col("weight").sum()).sort("x")
    part = (pl.col("weight").cum_sum() / pl.col("weight").sum()).round(6).alias("part")
    steps = bins.select("x", part)
    first = steps.head(1).with_columns(part=pl.lit(0.0))
    return pl.concat([first, steps[_ranks(steps.height, CDF_POINTS)]])


def band(curves: list[pl.DataFrame], steps: int = 120) -> pl.DataFrame:
    """(`part`, `low`, `high`) of several CDFs: the least and the greatest `x` at each part.

    It ends where a curve does: what one of them never reached has no greatest `x`.
    """
    grid = pl.Series("part", [(i + 1) / steps for i in range(steps - 1)] + [0.995, 0.999, 1.0]).sort()
    at = [
        curve["x"].gather(curve["part"].search_sorted(grid.filter(grid <= curve["part"][-1])))
        for curve in curves
        if curve.height
    ]
    reached = min((len(each) for each in at), default=0)
    if len(at) < len(curves) or not reached:
        return pl.DataFrame(schema={"part": pl.Float64, "low": pl.Float64, "high": pl.Float64})
    sides = pl.DataFrame([each.head(reached).alias(str(i)) for i, each in enumerate(at)])
    return sides.select(
        grid.head(reached).round(6),
        pl.min_horizontal(pl.all()).cast(pl.Float64).alias("low"),
        pl.max_horizontal(pl.all()).cast(pl.Float64).alias("high"),
    )


def rates(
    series: pl.DataFrame, time: str, columns: list[str], end: int, buckets: int = BUCKETS
) -> pl.DataFrame:
    """What is counted since the sample before, as counts a second; at most `buckets` rows up to `end`.

    A row's figure holds from the row before to its own time.
    """
    series = series.drop_nulls([time]).filter(pl.col(time) <= end).sort(time)
    width = max(1, -(-(end + 1) // buckets))
    since = pl.col(time) - pl.col(time).shift(fill_value=0)
    return (
        series.group_by(pl.col(time) // width, maintain_order=True)
        .agg(pl.col(time).last().alias("last"), *(pl.col(c).sum() for c in columns))
        .select(pl.col("last").alias(time), *columns)
        .with_columns(took=since)
        .filter(pl.col("took") > 0)
        .select(time, *(pl.col(c) * 1e12 / pl.col("took") for c in columns))
    )


def maxima(series: pl.DataFrame, time: str, column: str, end: int, buckets: int = BUCKETS) -> pl.DataFrame:
    """The greatest figure of each span of time up to `end`, at its last sample; at most `buckets` rows."""
    width = max(1, -(-(end + 1) // buckets))
    return (
        series.filter(pl.col(time) <= end)
        .sort(time)
        .group_by(pl.col(time) // width, maintain_order=True)
        .agg(pl.col(time).last().alias("last"), pl.col(column).max())
        .select(pl.col("last").alias(time), column)
    )


def most(frame: pl.DataFrame, column: str) -> int:
    """The greatest whole number of a column; 0 where there is none."""
    found = frame[column].max()
    assert found is None or isinstance(found, int)
    return found or 0


def _ranks(count: int, points: int) -> list[int]:
    """Positions in `count` sorted values: evenly spread, then ever denser towards the end."""
    if count <= points:
        return list(range(count))
    even = {round(i * (count - 1) / (points - 1)) for i in range(points)}
    tail = {count - 1 - round(count * 0.1 * 0.8**i) for i in range(60)}
    return sorted(r for r in even | tail if 0 <= r < count)


def _bucket(series: pl.DataFrame, time: str, buckets: int) -> pl.Expr:
    start, end = series[time].min(), series[time].max()
    assert isinstance(start, int)
    assert isinstance(end, int)
    width = max(1, -(-(end - start + 1) // buckets))
    return (pl.col(time) - start) // width


def wait_quantile(waits: pl.DataFrame, part: float) -> float | None:
    """The wait that `part` of the packets did not exceed: the upper end of its bin."""
    total = waits["packets"].sum() if waits.height else 0
    if not total:
        return None
    sums = waits.group_by("to_ps").agg(pl.col("packets").sum()).sort("to_ps")
    reached = sums.filter(pl.col("packets").cum_sum() >= part * float(total))
    return float(reached["to_ps"][0])
