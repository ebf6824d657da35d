"""Choices against each other over seeds: what is proven, what is alike, and what more seeds would decide."""

from __future__ import annotations

import math
from statistics import geometric_mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.contrast import MARGIN, contrast, means


def by_seed(*values: float) -> dict[int, float]:
    return dict(enumerate(values, start=1))


SHALLOW = by_seed(4.1, 4.3, 4.5, 4.4, 4.6)


def test_seeds_are_compared_in_pairs_by_their_ratios() -> None:
    # Log ratios 0, ln 2 and ln 4 have the mean ln 2 and the standard error ln 2 / √3; t(2) = 4.302653.
    found = contrast(by_seed(1, 1, 1), by_seed(1, 2, 4))
    assert found
    assert found.change == pytest.approx(1)
    half = 4.302653 * math.log(2) / 3**0.5
    assert found.interval
    assert found.interval == pytest.approx((2 / math.exp(half) - 1, 2 * math.exp(half) - 1))
    assert (found.seeds, found.more, found.less) == (3, 2, 0)


def test_an_outlier_on_the_slow_side_makes_nobody_alike() -> None:
    found = contrast(SHALLOW, by_seed(5.5, 5.2, 5.6, 5.4, 14.4))
    assert found
    assert found.verdict == "open"
    assert (found.more, found.seeds) == (5, 5)
    assert found.needed == 7


def test_alike_is_who_lies_within_the_margin_and_not_who_is_unproven() -> None:
    near, far = by_seed(4.12, 4.33, 4.53, 4.42, 4.63), by_seed(5.1, 5.4, 5.6, 5.5, 5.8)
    verdicts = [found.verdict for side in (near, far) if (found := contrast(SHALLOW, side))]
    assert verdicts == ["alike", "more"]
    turned = contrast(far, SHALLOW)
    assert turned
    assert (turned.verdict, turned.less) == ("less", 5)


def test_the_needed_seeds_are_the_fewest_that_decide() -> None:
    a, b = by_seed(10, 10, 10, 10), by_seed(9, 12, 9, 13)
    found = contrast(a, b)
    assert found
    assert found.verdict == "open"
    logs = [math.log(b[seed] / a[seed]) for seed in a]
    middle, scatter = sum(logs) / 4, stdev(logs)
    needed = found.needed or 0
    assert needed > 4
    # By the normal distribution's quantile, which Student's approaches from above.
    assert needed >= (1.96 * scatter / max(middle, math.log1p(MARGIN) - middle)) ** 2


def test_zero_has_no_ratio_but_a_verdict() -> None:
    found = contrast(by_seed(23, 20, 25), by_seed(0, 0, 0))
    assert found
    assert (found.change, found.interval, found.verdict) == (-1, None, "less")
    none = contrast(by_seed(0, 0), by_seed(0, 0))
    assert none
    assert (none.change, none.verdict) == (0, "alike")
    assert contrast({}, SHALLOW) is None


def test_one_seed_says_what_it_says() -> None:
    found = contrast(by_seed(100), by_seed(150))
    assert found
    assert (found.interval, found.needed, found.verdict) == (None, None, "more")


def test_other_seeds_are_compared_too() -> None:
    found = contrast({1: 10.0, 2: 11.0, 3: 10.5}, {4: 20.0, 5: 21.0, 6: 22.0})
    assert found
    assert (found.seeds, found.verdict) == (0, "more")


TIMES = st.lists(st.floats(1e-3, 1e9), min_size=2, max_size=8)


@given(TIMES, st.data())
def test_intervals_of_what_is_positive_stay_above_nothing(a: list[float], data: st.DataObject) -> None:
    b = data.draw(st.lists(st.floats(1e-3, 1e9), min_size=len(a), max_size=len(a)))
    found, turned = contrast(by_seed(*a), by_seed(*b)), contrast(by_seed(*b), by_seed(*a))
    assert found
    assert turned
    assert found.interval
    assert found.change is not None
    low, high = found.interval
    assert -1 <= low <= found.change <= high
    # The mean ratio is the ratio of the means, and turns with the sides.
    means = geometric_mean(b) / geometric_mean(a)
    assert 1 + found.change == pytest.approx(means)
    assert (1 + found.change) * (1 + (turned.change or 0)) == pytest.approx(1, rel=1e-4)  # 1 + 1e-11 is cut
    mirrored = {"alike": "alike", "open": "open", "more": "less", "less": "more"}
    assert turned.verdict == mirrored[found.verdict]


def test_the_mean_of_what_may_be_zero_is_the_arithmetic() -> None:
    assert means({"a": by_seed(1, 4)})["a"] == pytest.approx(2)
    # One zero, and all sides have the same kind of mean: no choice wins by another kind.
    assert means({"a": by_seed(1, 2, 60), "b": by_seed(0, 0.9, 58.9), "c": {}}) == pytest.approx(
        {"a": 21, "b": 59.8 / 3, "c": None}
    )
    found = contrast(by_seed(100, 200, 6000), by_seed(0, 90, 5890))
    assert found
    assert found.change == pytest.approx(5980 / 6300 - 1)


def test_there_is_no_part_of_what_is_not_above_zero() -> None:
    found = contrast(by_seed(-2), by_seed(3))
    assert found
    assert (found.change, found.verdict) == (None, "more")


def test_other_seeds_say_nothing_of_how_many_would_decide() -> None:
    found = contrast(by_seed(10, 12, 11), {7: 11.0, 8: 13.0, 9: 10.0})
    assert found
    assert (found.verdict, found.seeds, found.needed) == ("open", 0, None)
