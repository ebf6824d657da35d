"""Our TCP compared with Linux's own on the same switches: flow completion times, and windows over time.

linux.json and linux_windows.json hold Linux's figures (`python tests/differential/linux.py`), so the comparison
runs where its kernel is not built. What is further apart than the tolerance is listed in KNOWN with the section
of docs/validation/linux.md that names the difference; a figure of the list that comes within the tolerance fails
too, so the list can't rot.
"""

from __future__ import annotations

import json
from pathlib import Path

import linux
import linux_causes
import linux_matrix
import linux_windows
import pytest

VALIDATION = Path(__file__).resolve().parents[2] / "docs" / "validation" / "linux.md"
KEPT = json.loads(linux.KEPT.read_text())
WINDOWS = linux_windows.kept()
BBR = "BBR"
FEW = "Few long waits"
MEDIAN = "Medians between two groups"
NO_RACK = "CUBIC without RACK"
COUNTS = "Counts where times agree"
UNEQUAL = "Unequal round trips"
SYNS = "Lost SYNs"
CHANCE = "Chance in few flows"
#: (setting/control, figure): the heading in docs/validation/linux.md.
KNOWN = {
    ("incast-2/reno", "fct_mean_us"): FEW,
    ("incast-2/htcp", "fct_mean_us"): FEW,
    ("incast-2/bbr", "fct_p99_us"): BBR,
    ("incast-16/reno", "fct_mean_us"): FEW,
    ("incast-16/reno", "fct_p99_us"): FEW,
    ("incast-16/cubic", "fct_mean_us"): FEW,
    ("incast-16/htcp", "fct_mean_us"): FEW,
    ("incast-16/htcp", "fct_p99_us"): FEW,
    ("incast-16/bbr", "fct_p50_us"): BBR,
    ("incast-16/bbr", "fct_mean_us"): BBR,
    ("incast-16/bbr", "fct_p99_us"): BBR,
    ("incast-16-ecn/cubic", "fct_p50_us"): MEDIAN,
    ("incast-16-no-rack/reno", "fct_mean_us"): FEW,
    ("incast-16-no-rack/cubic", "fct_p50_us"): NO_RACK,
    ("incast-16-no-rack/cubic", "fct_mean_us"): NO_RACK,
    ("incast-16-rto-5ms/reno", "fct_p50_us"): MEDIAN,
    ("incast-16-rto-5ms/reno", "fct_mean_us"): FEW,
    ("incast-16-rto-5ms/cubic", "fct_p50_us"): MEDIAN,
    ("incast-16-rto-5ms/cubic", "fct_mean_us"): FEW,
    ("incast-16-rto-50ms/reno", "fct_p50_us"): MEDIAN,
    ("incast-16-rto-50ms/reno", "fct_mean_us"): FEW,
    ("incast-16-rto-50ms/cubic", "fct_p50_us"): MEDIAN,
    ("incast-16-rto-50ms/cubic", "fct_mean_us"): FEW,
    ("incast-16-rto-200ms/cubic", "fct_p50_us"): MEDIAN,
    ("incast-64/reno", "fct_mean_us"): FEW,
    ("incast-64/cubic", "fct_mean_us"): FEW,
    ("incast-64/htcp", "fct_mean_us"): FEW,
    ("incast-64/bbr", "fct_p50_us"): BBR,
    ("incast-64/bbr", "fct_mean_us"): BBR,
    ("incast-64-short/reno", "fct_p50_us"): MEDIAN,
    ("incast-64-short/reno", "fct_mean_us"): SYNS,
    ("incast-64-short/reno", "fct_p99_us"): SYNS,
    ("incast-64-short/cubic", "fct_p50_us"): MEDIAN,
    ("incast-64-short/cubic", "fct_mean_us"): SYNS,
    ("incast-64-short/cubic", "fct_p99_us"): SYNS,
    ("incast-64-short/dctcp", "fct_mean_us"): FEW,
    ("incast-64-short/htcp", "fct_p50_us"): MEDIAN,
    ("incast-64-short/htcp", "fct_mean_us"): SYNS,
    ("incast-64-short/htcp", "fct_p99_us"): SYNS,
    ("incast-64-short/bbr", "fct_p50_us"): MEDIAN,
    ("incast-64-short/bbr", "fct_mean_us"): SYNS,
    ("incast-64-short/bbr", "fct_p99_us"): SYNS,
    ("parking-lot/reno", "fct_p50_us"): MEDIAN,
    ("parking-lot/reno", "fct_mean_us"): FEW,
    ("parking-lot/cubic", "fct_mean_us"): FEW,
    ("parking-lot/htcp", "fct_mean_us"): FEW,
    ("parking-lot/bbr", "fct_p50_us"): BBR,
    ("parking-lot/bbr", "fct_mean_us"): BBR,
    ("parking-lot/bbr", "fct_p99_us"): BBR,
    ("rtt-1-4/reno", "fct_p50_us"): UNEQUAL,
    ("rtt-1-4/reno", "fct_mean_us"): FEW,
    ("rtt-1-4/cubic", "fct_p50_us"): UNEQUAL,
    ("rtt-1-4/cubic", "fct_mean_us"): UNEQUAL,
    ("rtt-1-4/cubic", "fct_p99_us"): UNEQUAL,
    ("rtt-1-4/dctcp", "fct_mean_us"): UNEQUAL,
    ("rtt-1-4/dctcp", "fct_p99_us"): UNEQUAL,
    ("rtt-1-4/htcp", "fct_p50_us"): UNEQUAL,
    ("rtt-1-4/htcp", "fct_mean_us"): FEW,
    ("rtt-1-4/bbr", "fct_p50_us"): BBR,
    ("rtt-1-4/bbr", "fct_mean_us"): BBR,
    ("rtt-1-4/bbr", "fct_p99_us"): BBR,
    ("loss-1%/dctcp", "fct_p50_us"): MEDIAN,
    ("loss-1%/dctcp", "fct_mean_us"): FEW,
    ("loss-1%/dctcp", "fct_p99_us"): FEW,
    ("loss-1%/bbr", "fct_mean_us"): FEW,
    ("loss-1%/bbr", "fct_p99_us"): FEW,
}

#: Where all times are within the tolerance, and goodput, retransmissions or timeouts are not.
KNOWN_COUNTS = {
    "one-flow-64/cubic": COUNTS,
    "one-flow-64/bbr": BBR,
    "one-flow-64-no-hystart/cubic": COUNTS,
    "incast-2/cubic": COUNTS,
    "incast-16-ecn/reno": COUNTS,
    "incast-16-rto-200ms/reno": COUNTS,
    "incast-64/dctcp": COUNTS,
    "loss-1%/cubic": COUNTS,
    "loss-1%/htcp": COUNTS,
}

#: The same for windows.
KNOWN_WINDOWS = {
    ("one-flow/bbr", "window_mean"): BBR,
    ("one-flow/bbr", "window_p99"): BBR,
    ("one-flow-64/bbr", "window_mean"): BBR,
    ("one-flow-64/bbr", "window_p99"): BBR,
    ("incast-2/bbr", "window_mean"): BBR,
    ("incast-2/bbr", "window_p99"): BBR,
    ("incast-16-ecn/reno", "window_mean"): CHANCE,
    ("parking-lot/reno", "window_mean"): CHANCE,
    ("parking-lot/htcp", "window_mean"): CHANCE,
    ("parking-lot/bbr", "window_mean"): BBR,
    ("parking-lot/bbr", "window_p99"): BBR,
    ("rtt-1-4/reno", "window_mean"): CHANCE,
    ("rtt-1-4/bbr", "window_mean"): BBR,
    ("rtt-1-4/bbr", "window_p99"): BBR,
    ("loss-1%/bbr", "window_mean"): BBR,
    ("loss-1%/bbr", "window_p99"): BBR,
}


def test_every_setting_is_kept_and_every_known_difference_is_explained() -> None:
    headings = {
        line.lstrip("# ").strip() for line in VALIDATION.read_text().splitlines() if line.startswith("#")
    }
    reasons = (KNOWN, KNOWN_COUNTS, KNOWN_WINDOWS)
    assert {heading for reason in reasons for heading in reason.values()} <= headings
    assert {linux.key(number) for number in range(len(linux_matrix.PAIRS))} == set(KEPT)
    assert {linux_windows.key(number) for number in range(len(linux_windows.PAIRS))} == set(WINDOWS)


@pytest.mark.parametrize("number", range(len(linux_matrix.PAIRS)), ids=linux.key)
def test_times_and_counts_are_those_of_linux(number: int) -> None:
    mine, key = linux.measure(number, emulated=False), linux.key(number)
    for name, tolerance in linux.TOLERANCE.items():
        apart = abs(linux.distance(mine[name], KEPT[key][name]))
        if (key, name) in KNOWN:
            assert apart > tolerance, f"{name} is within the tolerance by now: take it off the list"
        else:
            assert apart <= tolerance, f"{name}: {mine[name]} here, {KEPT[key][name]} there"
    if not any((key, name) in KNOWN for name in linux.TOLERANCE):
        far = linux.beyond_counts(mine, KEPT[key])
        assert bool(far) == (key in KNOWN_COUNTS), far


def test_what_a_cause_settles_is_beyond_the_tolerance_with_it() -> None:
    settled = {figure for cause in linux_causes.CAUSES for figure in cause.settles}
    assert settled | set(linux_causes.CHANCE) <= set(KNOWN)
    assert settled.isdisjoint(linux_causes.CHANCE)


@pytest.mark.parametrize("cause", linux_causes.CAUSES, ids=lambda cause: cause.name)
def test_without_its_cause_a_difference_is_within_the_tolerance(cause: linux_causes.Cause) -> None:
    for key, names in linux_causes.pairs(cause.settles).items():
        mine = linux_causes.measure(key, cause.change)
        for name in names:
            apart = linux.distance(mine[name], KEPT[key][name])
            assert abs(apart) <= linux.TOLERANCE[name], f"{key}, {name}: {apart:+.1%}"


@pytest.mark.parametrize("number", range(len(linux_windows.PAIRS)), ids=linux_windows.key)
def test_windows_over_time_are_those_of_linux(number: int) -> None:
    key = linux_windows.key(number)
    (mine, mine_curve), (peer, peer_curve) = linux_windows.measure(number, emulated=False), WINDOWS[key]
    for name, apart in linux_windows.beyond(mine, peer).items():
        if (key, name) in KNOWN_WINDOWS:
            assert abs(apart) > linux_windows.TOLERANCE[name], f"{name} is within the tolerance by now"
        else:
            assert abs(apart) <= linux_windows.TOLERANCE[name], (
                f"{name}: {mine[name]} here, {peer[name]} there"
            )
    if mine_curve and peer_curve and (key, "window_mean") not in KNOWN_WINDOWS:
        assert linux_windows.distance(mine_curve, peer_curve) < 0.05
