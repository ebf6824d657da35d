"""Thresholds on figures of a summary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast import metrics
from incast.thresholds import parse_threshold

SUMMARY = {
    "done_ps": 5 * 10**9,
    "jobs": {"a.b": {"duration_ps": 5 * 10**9, "goodput_bps": 10**9, "timeouts": 0, "fct_p99_ps": None}},
    "flows": {"fct_p99_ps": 10**9},
    "ports": {"drops": 3, "queue_max_bytes": 10**6},
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("jobs.a.b.duration < 5ms", False),
        ("jobs.a.b.duration <= 5ms", True),
        ("jobs.a.b.duration_ps<=5ms", True),
        ("jobs.a.b.goodput > 0.9 Gbps", True),
        ("jobs.a.b.timeouts == 0", True),
        ("jobs.a.b.fct_p99 > 0s", False),
        ("flows.fct_p99 != 1ms", False),
        ("ports.drops == 0", False),
        ("ports.drops <= 3", True),
        ("ports.queue_max < 1MiB", True),
        ("ports.wait_p99 < 1s", False),
        ("done < 6ms", True),
    ],
)
def test_hold_or_not(text: str, holds: bool) -> None:
    verdict = parse_threshold(text, ["a.b"]).check(SUMMARY)
    assert (verdict.text, verdict.holds) == (text, holds)


@pytest.mark.parametrize(
    "text", ["", "ports.drops", "ports.drops = 0", "ports.drops == many", "== 0", "a < b < c"]
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a"):
        parse_threshold(text, ["a"])


def test_every_figure_can_be_asked_for() -> None:
    for name in metrics.names(["a"]):
        found = metrics.find(name)
        assert found is not None
        value = {"_ps": "1ms", "_bytes": "1MB", "_bps": "1Gbps", "_percent": "5%", "": "1"}[found[1].unit]
        assert parse_threshold(f"{name} < {value}", ["a"]).limit > 0


@given(st.text(max_size=30))
def test_any_text_is_a_threshold_or_refused(text: str) -> None:
    try:
        parse_threshold(text, ["a"]).check(SUMMARY)
    except ValueError as error:
        assert str(error)
