"""When a claim holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.samples import Samples
from incast.study import Study
from incast.study.axes import Cell
from incast.study.claims import Test
from incast.study.verdict import Finding, Verdict, decide, described, judge, together
from studies import CLAIMS, study

HOLDS, FAILS, UNDECIDED, UNTESTED = Verdict
TESTS = 'tests = [{less = ["deep", "shallow"], metric = "drops"}]'


def one(folder: Path, tests: str) -> Study:
    return study(folder, claims=CLAIMS.replace(TESTS, f"tests = [{tests}]"))


def judged(found: Study, **cells: list[float]) -> Finding:
    """The first claim, with these times in ms and drops alike; `deep_one` is the cell deep/one."""
    measured = {}
    for name, values in cells.items():
        samples = {seed: value * 1e9 for seed, value in enumerate(values)}
        drops = dict(enumerate(values))
        measured[Cell(tuple(name.split("_")))] = {"time": samples, "drops": drops, "discards": drops}
    return judge(found, measured)[0]


@pytest.mark.parametrize(
    ("test", "a", "b", "verdict"),
    [
        ('less = ["deep", "shallow"]', [1, 1.1, 0.9], [2, 2.1, 1.9], HOLDS),
        ('less = ["deep", "shallow"]', [2, 2.1, 1.9], [1, 1.1, 0.9], FAILS),
        ('less = ["deep", "shallow"]', [1, 2, 3], [2, 1, 3.1], UNDECIDED),
        ('less = ["deep", "shallow"]', [1, 1], [1, 1], FAILS),
        ('within = ["deep", "shallow"], part = 0.05', [10, 10.5, 11], [10.1, 10.6, 11.1], HOLDS),
        ('within = ["deep", "shallow"], part = 0.05', [1, 2, 3], [1.2, 2.4, 3.6], UNDECIDED),
        ('within = ["deep", "shallow"], part = 0.05', [1, 1.01, 1.02], [1.2, 1.21, 1.22], FAILS),
        ('within = ["deep", "shallow"], part = 0.05', [0, 0], [0, 0], HOLDS),
        ('ratio = ["deep", "shallow"], between = [1.9, 2.1]', [2, 2.01, 2.02], [1, 1, 1.01], HOLDS),
        ('ratio = ["deep", "shallow"], between = [0, 0.5]', [2, 2.01, 2.02], [1, 1, 1.01], FAILS),
        ('ratio = ["deep", "shallow"], between = [0, 0.5]', [0, 0, 0], [5, 6, 7], HOLDS),
        ('ratio = ["deep", "shallow"], between = [0, 0.5]', [0, 0, 0], [0, 0, 0], UNDECIDED),
        ('above = "deep", value = 0, metric = "drops"', [3, 4, 5], [], HOLDS),
        ('above = "deep", value = 0, metric = "drops"', [0, 0, 0], [], FAILS),
        ('above = "deep", value = 0, metric = "drops"', [0, 0, 9], [], UNDECIDED),
        ('below = "deep", value = "2ms"', [1, 1.1, 1.2], [], HOLDS),
        ('below = "deep", value = "1ms"', [1, 1.1, 1.2], [], UNDECIDED),
        ('below = "deep", value = "1ms"', [2, 2.1], [], FAILS),
        ('less = ["deep", "shallow"]', [1], [2], UNTESTED),
        ('less = ["deep", "shallow"]', [1, 2], [], UNTESTED),
    ],
)
def test_one_comparison(tmp_path: Path, test: str, a: list[float], b: list[float], verdict: Verdict) -> None:
    found = judged(one(tmp_path, f'{{{test}, over = "one"}}'), deep_one=a, shallow_one=b)
    assert [each.verdict for each in found.comparisons] == [verdict]
    assert found.verdict == verdict
    assert bool(found.comparisons[0].why) == (
        len(a) < 2 or verdict == UNTESTED or ("0.5" in test and not any(b))
    )


def test_runs_that_lack_the_figure_were_run(tmp_path: Path) -> None:
    found = one(tmp_path, '{less = ["deep", "shallow"], over = "one"}')
    ended = {seed: 1e9 * (1 + seed) for seed in range(3)}
    drops = {0: 1.0, 1: 1.0, 2: 1.0}
    shallow = {"time": ended, "drops": drops, "discards": drops}
    for time in ({}, {1: 1e9}):  # The job ended in no run, or in one of three.
        deep = {"time": time, "drops": drops, "discards": drops}
        measured = {Cell(("deep", "one")): deep, Cell(("shallow", "one")): shallow}
        finding = judge(found, measured)[0]
        assert (finding.verdict, finding.tested) == (UNDECIDED, 1)
        assert finding.comparisons[0].why == f"{len(time)} of 3 runs of deep/one have the figure"
        assert judge(found, measured | {Cell(("shallow", "one")): {}})[0].verdict == UNTESTED


def test_all_have_to_hold_and_what_was_not_run_has_no_say(tmp_path: Path) -> None:
    found = one(tmp_path, '{less = ["deep", "shallow"]}')
    half = judged(found, deep_one=[1, 1.1], shallow_one=[2, 2.1])
    assert (half.verdict, half.tested, len(half.comparisons)) == (HOLDS, 1, 2)
    both = judged(found, deep_one=[1, 1.1], shallow_one=[2, 2.1], deep_two=[2, 2.1], shallow_two=[1, 1.1])
    assert (both.verdict, both.tested) == (FAILS, 2)
    assert judged(found).verdict == UNTESTED


def test_against_another_cell(tmp_path: Path) -> None:
    # Shallow takes half as long as deep in one round, nine tenths in two.
    found = one(tmp_path, '{less = ["shallow/one", "shallow/two"], against = "deep"}')
    cells: dict[str, list[float]] = {
        "deep_one": [2, 4],
        "shallow_one": [1, 2.1],
        "deep_two": [10, 20],
        "shallow_two": [9, 18],
    }
    (compared,) = judged(found, **cells).comparisons
    assert list(compared.ours) == pytest.approx([0.5125, 0.9])
    assert compared.published == (None, None)
    assert judged(found, shallow_one=[1, 2], shallow_two=[9, 18]).verdict == UNTESTED


def test_published_figures_stand_beside_ours(tmp_path: Path) -> None:
    found = judged(one(tmp_path, '{less = ["deep", "shallow"]}'), deep_one=[1, 2], shallow_one=[2, 3])
    assert found.comparisons[0].published == (300_000_000, 300_000_000)
    assert found.comparisons[0].cells == ("deep/one", "shallow/one")
    assert found.json()["verdict"] == "holds"


def test_a_claim_without_a_test_is_not_tested(tmp_path: Path) -> None:
    why = judge(study(tmp_path), {})[2]
    assert (why.verdict, why.claim.reason, why.comparisons) == (UNTESTED, "nobody knows", ())


SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8).map(lambda values: dict(enumerate(values)))


@given(SAMPLES, SAMPLES)
def test_both_directions_can_not_hold(a: Samples, b: Samples) -> None:
    there, back = decide([(a, b)]), decide([(b, a)])
    assert there != HOLDS or back == FAILS
    assert (there == UNDECIDED) == (back == UNDECIDED)


@given(SAMPLES, st.floats(0.1, 1e3))
def test_what_is_larger_in_every_seed_by_the_same_is_larger(a: Samples, more: float) -> None:
    b = {seed: value + more for seed, value in a.items()}
    assert decide([(a, b)]) == HOLDS


@given(SAMPLES, SAMPLES, st.floats(0, 10))
def test_a_wider_range_holds_where_a_narrow_one_did(a: Samples, b: Samples, wider: float) -> None:
    positive = {seed: abs(value) + 1 for seed, value in b.items()}

    def verdict(low: float, high: float) -> Verdict:
        ends = [{seed: value * end for seed, value in positive.items()} for end in (low, high)]
        return decide([(ends[0], a), (a, ends[1])])

    if verdict(-1, 1) == HOLDS:
        # The interval of a wider condition can be wider too, but only by as much as b itself varies.
        assert verdict(-1 - wider, 1 + wider) in (HOLDS, UNDECIDED)
    if verdict(-1 - wider, 1 + wider) == FAILS:
        assert verdict(-1, 1) in (FAILS, UNDECIDED)


@given(st.lists(st.sampled_from(list(Verdict)), max_size=5))
def test_together(verdicts: list[Verdict]) -> None:
    found = together(verdicts)
    assert (found == FAILS) == (FAILS in verdicts)
    assert (found == UNTESTED) == all(each == UNTESTED for each in verdicts)
    if found == HOLDS:
        assert UNDECIDED not in verdicts


def test_a_test_as_text() -> None:
    assert described(Test(less=["a", "b"], over="c", against="d")) == "less(a, b) over c against d"
    assert described(Test(ratio=["a", "b"], between=[0.5, 2])) == "ratio(a, b) in [0.5, 2]"
    assert described(Test(below="a", value="2ms")) == "below(a, 2ms)"
