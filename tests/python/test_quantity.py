"""Quantities: text with units in, integers out, and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from incast import _core, quantity
from incast.lab.quantities import Depth, PositiveSize, Rate, Span, Time

U64 = st.integers(min_value=0, max_value=2**64 - 1)


@given(U64)
def test_times_read_back_as_they_were_printed(ps: int) -> None:
    assert quantity.parse_time(quantity.format_time(ps)) == ps


CELLS = st.none() | st.text("0123456789., \tumnpsx", max_size=6)


@given(st.lists(CELLS), st.sampled_from(["", "ps", "us", "s"]))
def test_a_column_of_times_is_read_as_each_is(cells: list[str | None], unit: str) -> None:
    times, wrong = _core.parse_times(cells, unit)
    for row, (cell, time) in enumerate(zip(cells, times, strict=True)):
        try:
            alone = quantity.parse_time((cell or "").strip() + unit)
        except ValueError as error:
            assert wrong.pop(row) == str(error)
            alone = 0
        assert time == alone
    assert not wrong


@given(U64)
def test_rates_read_back_as_they_were_printed(bps: int) -> None:
    assert quantity.parse_rate(quantity.format_rate(bps)) == bps


@given(U64)
def test_sizes_read_back_as_they_were_printed(size: int) -> None:
    assert quantity.parse_bytes(quantity.format_bytes(size)) == size


@given(st.text(max_size=12))
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        assert quantity.parse_time(text) >= 0
    except ValueError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Rate, 25, '"25" has no unit: a rate is written like 25Gbps'),
        (Rate, "25", "has no unit"),
        (Rate, "-1Gbps", "not negative"),
        (Rate, "0bps", "at least 1kbps"),
        (Rate, "25GB", "is not a unit of rate: allowed are bps"),
        (Rate, True, "not true or false"),
        (Time, None, "not nothing"),
        (Time, 1.5, "has no unit"),
        (Time, "1.5", "has no unit"),
        (Time, "0.5ps", "not a whole number"),
        (Time, "99999999h", "too large"),
        (PositiveSize, "0B", "must be above zero"),
        (PositiveSize, [], "not a list"),
        (Depth, "65 pakets", "or in packets"),
        (Depth, "0 packets", "above zero"),
        (Span, ["1ms"], "two ends"),
        (Span, ["2ms", "1ms"], "above its end"),
        (Span, "0s", "above zero"),
    ],
)
def test_refused(kind: Any, value: object, said: str) -> None:
    with pytest.raises(ValidationError, match=r".*") as caught:
        TypeAdapter(kind).validate_python(value)
    assert said in str(caught.value)


def test_depths_in_bytes_and_packets() -> None:
    assert quantity.parse_depth("200kB") == {"bytes": 200_000}
    assert quantity.parse_depth("65 packets") == {"packets": 65}
    assert quantity.parse_depth("1packet") == {"packets": 1}


def test_a_span_is_one_time_or_a_range() -> None:
    assert quantity.parse_span("1us") == {"fixed": 1_000_000}
    assert quantity.parse_span(["1us", "2us"]) == {"uniform": [1_000_000, 2_000_000]}
