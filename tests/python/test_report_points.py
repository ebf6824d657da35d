"""Downsampling keeps what matters: peaks, sums, and the shape of distributions."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast import text
from incast.report.points import band, cdf, extremes, rates, sums, weighted_cdf

SERIES = st.lists(st.integers(0, 10**9), min_size=1, max_size=400)


def series(values: list[int]) -> pl.DataFrame:
    return pl.DataFrame(
        {"t": [i * 7 for i in range(len(values))], "v": values}, schema={"t": pl.Int64, "v": pl.Int64}
    )


@given(SERIES, st.integers(1, 20))
def test_extremes_keep_peak_trough_and_ends(values: list[int], buckets: int) -> None:
    whole = series(values)
    kept = extremes(whole, "t", "v", buckets)
    assert kept["v"].max() == max(values)
    assert kept["v"].min() == min(values)
    assert kept.row(0) == whole.row(0)
    assert kept.row(-1) == whole.row(-1)
    assert kept.height <= 4 * buckets or kept.height == whole.height
    assert kept["t"].is_sorted()


@given(SERIES, st.integers(1, 20))
def test_sums_lose_nothing(values: list[int], buckets: int) -> None:
    kept = sums(series(values), "t", ["v"], buckets)
    assert kept["v"].sum() == sum(values)
    assert kept.height <= buckets


@given(SERIES, st.integers(2, 50))
def test_a_cdf_rises_from_the_least_to_the_greatest(values: list[int], points: int) -> None:
    curve = cdf(pl.Series(values), len(values), points)
    assert curve.row(0) == (min(values), 0)
    assert curve.row(-1) == (max(values), 1)
    assert curve["x"].is_sorted()
    assert curve["part"].is_sorted()
    for x, part in curve.iter_rows():
        assert sum(v <= x for v in values) / len(values) >= part - 1e-6


def test_a_cdf_of_what_did_not_all_finish_ends_below_one() -> None:
    assert cdf(pl.Series([1, 2, None]), 4)["part"].to_list() == [0, 0.25, 0.5]


def test_a_histogram_is_a_cdf_of_its_packets() -> None:
    curve = weighted_cdf(pl.Series([20, 10, 20]), pl.Series([1, 2, 1]))
    assert curve.rows() == [(10, 0), (10, 0.5), (20, 1)]


def test_a_band_is_the_range_of_its_curves_and_ends_where_one_does() -> None:
    whole, short = cdf(pl.Series([1, 2, 3, 4]), 4), cdf(pl.Series([2, 3]), 4)
    rows = {round(part, 3): (low, high) for part, low, high in band([whole, short], 4).rows()}
    assert rows == {0.25: (1, 2), 0.5: (2, 3)}


def test_rates_are_counts_by_the_time_since_the_sample_before() -> None:
    counted = pl.DataFrame({"t": [10, 20, 40, 50], "n": [1, 1, 1, 1]})
    assert rates(counted, "t", ["n"], 50).rows() == [(10, 1e11), (20, 1e11), (40, 5e10), (50, 1e11)]
    assert rates(counted, "t", ["n"], 59, buckets=2).rows() == [(20, 1e11), (50, 2e12 / 30)]


def test_nothing_gives_nothing() -> None:
    empty = series([]).clear()
    assert extremes(empty, "t", "v").height == 0
    assert sums(empty, "t", ["v"]).height == 0
    assert cdf(empty["v"], 1).height == 0
    assert weighted_cdf(empty["t"], empty["v"]).height == 0


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (text.time(0), "0 s"),
        (text.time(14_600_000_000), "14.6 ms"),
        (text.time(999_600_000), "1 ms"),
        (text.time(None), "–"),
        (text.size(27_400_000), "27.4 MB"),
        (text.rate(25_000_000_000), "25 Gb/s"),
        (text.count(1_234_567), "1\u202f234\u202f567"),
        (text.percent(0.0123), "1.23 %"),
        (text.percent(0.8712), "87 %"),
        (text.percent(2e-7), "< 0.01 %"),
        (text.span(1e9, 2e9, text.time), "1 ms to 2 ms"),
        (text.span(1e9, 1.001e9, text.time), ""),
        (text.plural(1, "drop"), "1 drop"),
        (text.listed(["a", "b", "c"]), "a, b and c"),
    ],
)
def test_figures_are_written_as_people_read_them(shown: str, expected: str) -> None:
    assert shown == expected


def test_names_sort_as_people_count() -> None:
    assert sorted(["host10", "host2", "leaf1"], key=text.natural_key) == ["host2", "host10", "leaf1"]
