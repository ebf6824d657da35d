"""Our results compared with ns-3: flow completion times, goodput, drops and marks.

reference.json holds ns-3's figures, with its version and the command that made them, so the comparison
runs where ns-3 is not installed. Where it is (`pip install ns3==3.44.post0` and a C++ compiler), a few
settings are run again, to see that the recorded figures are still what ns-3 says.

What is further apart than the tolerance is listed in KNOWN with the section of docs/validation/ns3.md that
names the difference of the models behind it; a figure of the list that comes within the tolerance fails
too, so the list can't rot.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import figures
import matrix
import pytest
import record
from testkit import ours
from testkit.ns3 import build, simulate

REFERENCE = json.loads(record.REFERENCE.read_text())
VALIDATION = Path(__file__).resolve().parents[2] / "docs" / "validation" / "ns3.md"
HEAD_AGAIN = "Retransmission of the head on each partial acknowledgement"
SECOND = "NewReno's second timeouts"
HANDSHAKE = "The third segment of the handshake"
ECHO = "ECN echo during recovery"
DRAWS = "Independent random losses"
WAITS = "Which runs wait for a timeout"
SYNS = "Lost SYNs"
CWR = "Losses while marks are answered"

#: (setting/control, figure): the heading in docs/validation/ns3.md that explains it.
KNOWN = {
    ("dumbbell-loss-0.1%/newreno", "fct_p99_us"): DRAWS,
    ("dumbbell-loss-0.1%/newreno", "goodput_gbps"): DRAWS,
    ("dumbbell-loss-0.1%/reno", "fct_p99_us"): DRAWS,
    ("dumbbell-loss-0.1%/reno", "goodput_gbps"): DRAWS,
    ("dumbbell-loss-0.1%/dctcp", "marks"): ECHO,
    ("dumbbell-loss-0.5%/newreno", "fct_mean_us"): DRAWS,
    ("dumbbell-loss-0.5%/newreno", "goodput_gbps"): DRAWS,
    ("dumbbell-loss-0.5%/reno", "goodput_gbps"): DRAWS,
    ("dumbbell-loss-0.5%/dctcp", "fct_p99_us"): DRAWS,
    ("dumbbell-loss-0.5%/dctcp", "marks"): ECHO,
    ("dumbbell/newreno", "fct_mean_us"): SECOND,
    ("dumbbell/newreno", "fct_p99_us"): SECOND,
    ("dumbbell/newreno", "goodput_gbps"): SECOND,
    ("dumbbell/newreno", "drops"): SECOND,
    ("dumbbell/cubic", "fct_p99_us"): HEAD_AGAIN,
    ("dumbbell/cubic", "goodput_gbps"): HEAD_AGAIN,
    ("incast-4/newreno", "fct_p99_us"): SECOND,
    ("incast-4/newreno", "goodput_gbps"): SECOND,
    ("incast-32/newreno", "goodput_gbps"): SECOND,
    ("incast-32/dctcp", "goodput_gbps"): HANDSHAKE,
    ("incast-32/dctcp", "drops"): HANDSHAKE,
    ("incast-32/dctcp", "marks"): HANDSHAKE,
    ("incast-64-jumbo/reno", "fct_p99_us"): HEAD_AGAIN,
    ("incast-64-jumbo/reno", "goodput_gbps"): HEAD_AGAIN,
    ("incast-64-jumbo/cubic", "fct_mean_us"): HANDSHAKE,
    ("incast-64-jumbo/cubic", "goodput_gbps"): HEAD_AGAIN,
    ("incast-64-jumbo/dctcp", "fct_mean_us"): CWR,
    ("incast-64-jumbo/dctcp", "fct_p99_us"): CWR,
    ("incast-64-jumbo/dctcp", "goodput_gbps"): CWR,
    ("incast-64-jumbo/dctcp", "marks"): CWR,
    ("incast-64-short/newreno", "fct_mean_us"): SYNS,
    ("incast-64-short/newreno", "fct_p99_us"): SYNS,
    ("incast-64-short/newreno", "goodput_gbps"): SYNS,
    ("incast-64-short/reno", "fct_mean_us"): SYNS,
    ("incast-64-short/reno", "fct_p99_us"): SYNS,
    ("incast-64-short/reno", "goodput_gbps"): SYNS,
    ("incast-64-short/cubic", "fct_mean_us"): SYNS,
    ("incast-64-short/cubic", "fct_p99_us"): SYNS,
    ("incast-64-short/cubic", "goodput_gbps"): SYNS,
    ("incast-64-short/dctcp", "fct_mean_us"): HANDSHAKE,
    ("incast-64-short/dctcp", "fct_p99_us"): HANDSHAKE,
    ("incast-64-short/dctcp", "goodput_gbps"): HANDSHAKE,
    ("incast-64-short/dctcp", "marks"): CWR,
    ("parking-lot/newreno", "fct_mean_us"): SYNS,
    ("parking-lot/newreno", "goodput_gbps"): SYNS,
    ("parking-lot/cubic", "goodput_gbps"): HEAD_AGAIN,
    ("leaf-spine/newreno", "goodput_gbps"): SECOND,
    ("leaf-spine/cubic", "goodput_gbps"): HEAD_AGAIN,
    ("leaf-spine/dctcp", "fct_mean_us"): ECHO,
    ("leaf-spine/dctcp", "fct_p99_us"): ECHO,
    ("leaf-spine/dctcp", "goodput_gbps"): ECHO,
    ("four-spines/newreno", "goodput_gbps"): WAITS,
    ("four-spines/reno", "fct_mean_us"): WAITS,
    ("four-spines/reno", "goodput_gbps"): WAITS,
    ("four-spines/cubic", "fct_mean_us"): WAITS,
    ("four-spines/cubic", "goodput_gbps"): WAITS,
}


def key(setting: matrix.Setting, control: str) -> str:
    return f"{setting.name}/{control}"


@pytest.mark.parametrize(("setting", "control"), matrix.PAIRS, ids=[key(*pair) for pair in matrix.PAIRS])
def test_ours_is_within_the_tolerance_of_ns3(setting: matrix.Setting, control: str) -> None:
    reference = REFERENCE["settings"][key(setting, control)]
    runs = [ours.run(scenario) for scenario in record.scenarios(setting, control)]
    cases = record.cases(setting, control, runs)
    assert reference["cases"] == record.digest(setting, cases), f"run `{record.COMMAND}` again"
    apart = differences(figures.of_runs(runs), reference["figures"])
    explained = {figure for place, figure in KNOWN if place == key(setting, control)}
    assert set(apart) == explained, "\n".join(apart.values()) or f"no longer apart: {explained}"


@pytest.mark.parametrize(
    ("setting", "control"), matrix.LONG_PAIRS, ids=[key(*pair) for pair in matrix.LONG_PAIRS]
)
def test_goodput_on_long_paths(setting: matrix.Setting, control: str) -> None:
    reference = REFERENCE["settings"][key(setting, control)]
    runs = [ours.run(scenario) for scenario in record.scenarios(setting, control)]
    cases = record.cases(setting, control, runs)
    assert reference["cases"] == record.digest(setting, cases), f"run `{record.COMMAND}` again"
    mine, peer = figures.of_long_runs(runs)["goodput_mbps"], reference["figures"]["goodput_mbps"]
    assert abs(mine - peer) <= matrix.LONG_TOLERANCE * peer, f"{mine} Mb/s, ns-3 has {peer}"


def differences(mine: dict[str, float], peer: dict[str, float]) -> dict[str, str]:
    """What is further apart than allowed, said in words."""
    apart = {}
    for figure, allowed in figures.TOLERANCE.items():
        value, other = mine[figure], peer[figure]
        far = figures.distance(figure, value, other)
        if abs(far) > allowed:
            apart[figure] = f"{figure}: {value:.5g} is {far:+.1%} from ns-3's {other:.5g}"
    return apart


@pytest.mark.parametrize("heading", sorted(set(KNOWN.values())))
def test_each_explanation_is_written(heading: str) -> None:
    assert f"# {heading}\n" in VALIDATION.read_text()


@pytest.mark.parametrize("control", matrix.CONTROLS)
def test_ns3_still_says_what_is_recorded(control: str) -> None:
    try:
        ns3 = build.wheel(install=False)
    except build.UnavailableError as reason:
        pytest.skip(str(reason))
    setting = next(s for s in matrix.SETTINGS if s.name == "incast-4")
    again: dict[str, Any] = record.record(ns3, setting, control)
    assert again == REFERENCE["settings"][key(setting, control)]
    assert ns3.name == REFERENCE["simulator"]


def test_a_run_without_loss_sends_no_segment_twice() -> None:
    try:
        ns3 = build.wheel(install=False)
    except build.UnavailableError as reason:
        pytest.skip(str(reason))
    setting = next(s for s in matrix.SETTINGS if s.name == "incast-32-ample")
    run = simulate.run(ns3, setting.scenario("reno", 0))
    assert run["drops"] == 0
    assert {flow["segments"] for flow in run["flows"]} == {-(-64_000 // 1460)}
