"""Comparing results: differences, intervals, the best choice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.choose import best, deciding
from incast.comparison import compare
from incast.errors import ResultError
from incast.result import Result
from incast.samples import by_choice, change, interval


def run(
    folder: Path, choice: str | None, seed: int, done: int | None, kind: str = "incast", **flows: Any
) -> str:
    job = {"kind": kind, "duration_ps": done}
    folder.mkdir(parents=True)
    summary = {"choice": choice, "seed": seed, "done_ps": done, "jobs": {"a": job}, "flows": flows}
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder.name


def study(folder: Path, **choices: list[int | None]) -> Result:
    listed = []
    for choice, times in choices.items():
        runs = [f"{choice}/{run(folder / choice / f'seed-{s}', choice, s, t)}" for s, t in enumerate(times)]
        listed.append({"name": choice, "folder": runs[0], "runs": runs})
    (folder / "summary.json").write_text(json.dumps({"choices": listed}))
    return Result.open(folder)


def test_two_single_runs(tmp_path: Path) -> None:
    run(tmp_path / "a", None, 1, 100)
    run(tmp_path / "b", "deep", 1, 150)
    found = {each.figure: each for each in compare(Result.open(tmp_path / "a"), Result.open(tmp_path / "b"))}
    done = found["done_ps"]
    assert (done.a, done.b) == (100, 150)
    for each in (done, found["jobs.a.duration_ps"]):
        assert each.contrast
        assert each.contrast.change == pytest.approx(0.5)
        assert each.contrast.interval is None


def test_choices_are_compared_with_their_own(tmp_path: Path) -> None:
    a = study(tmp_path / "a", deep=[10], shallow=[20])
    b = study(tmp_path / "b", shallow=[10], other=[1])
    found = [each for each in compare(a, b) if each.figure == "done_ps"]
    (only,) = found
    assert only.choice == "shallow"
    assert only.contrast
    assert only.contrast.change == pytest.approx(-0.5)
    with pytest.raises(ResultError, match="no choice in common"):
        compare(a, study(tmp_path / "c", x=[1], y=[2]))


def test_the_same_seeds_are_compared_pair_by_pair() -> None:
    a = {1: 10.0, 2: 20.0, 3: 30.0}
    b = {1: 11.0, 2: 22.0, 3: 30.0}
    low, high = interval(a, b) or (0, 0)
    # Differences 1, 2, 0: mean 1, standard error 1/√3, t(2) = 4.302653.
    assert [low, high] == pytest.approx([1 - 4.302653 / 3**0.5, 1 + 4.302653 / 3**0.5])


def test_other_seeds_are_compared_by_welch() -> None:
    low, high = interval({1: 10.0, 2: 12.0}, {3: 20.0, 4: 22.0}) or (0, 0)
    # Variances 2 and 2, error √2, 2 degrees of freedom.
    assert [low, high] == pytest.approx([10 - 4.302653 * 2**0.5, 10 + 4.302653 * 2**0.5])
    assert interval({1: 1.0}, {1: 2.0}) is None
    assert interval({1: 1.0, 2: 1.0}, {3: 2.0, 4: 2.0}) == (1.0, 1.0)


SAMPLES = st.dictionaries(st.integers(0, 9), st.floats(-1e6, 1e6), min_size=2, max_size=6)


@given(SAMPLES, SAMPLES)
def test_an_interval_holds_the_difference_and_turns_with_the_sides(
    a: dict[int, float], b: dict[int, float]
) -> None:
    low, high = interval(a, b) or (0, 0)
    middle = sum(b.values()) / len(b) - sum(a.values()) / len(a)
    assert low - 1e-6 <= middle <= high + 1e-6
    assert list(interval(b, a) or ()) == pytest.approx([-high, -low])


def test_changes_need_something_to_change_from() -> None:
    assert change(2, 3) == 0.5
    assert change(0, 0) == 0
    assert change(0, 1) is None
    assert change(None, 1) is None
    assert change(1, None) is None


def test_the_best_choice(tmp_path: Path) -> None:
    choices = by_choice(study(tmp_path / "x", deep=[30, 10], shallow=[15, 16], lost=[1, None]).runs)
    assert best(choices) == "shallow"
    assert deciding(choices)[0] == ("done_ps",)
    run(tmp_path / "c", None, 1, 5, kind="coflows", group_mean_ps=3, fct_p99_ps=4)
    assert deciding({"": [Result.open(tmp_path / "c")]})[0] == ("flows", "group_mean_ps")
    run(tmp_path / "l", None, 1, 5, kind="load", fct_p99_ps=4)
    assert deciding({"": [Result.open(tmp_path / "l")]})[0] == ("flows", "fct_p99_ps")


def test_no_result(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="is not a result: it has no summary"):
        Result.open(tmp_path)
    (tmp_path / "summary.json").write_text("{")
    with pytest.raises(ResultError, match="not readable"):
        Result.open(tmp_path)
    (tmp_path / "summary.json").write_text("[]")
    with pytest.raises(ResultError, match="not a summary"):
        Result.open(tmp_path)
