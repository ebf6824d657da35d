"""The answer in words, and the tables below it: true, whole, and never broken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from incast.answer import answer
from incast.cli import show, show_choices
from incast.cli.terminal import SafeConsole
from incast.result import Result
from incast.samples import by_choice

MS = 10**9


def choices(folder: Path, **times: Sequence[float | None]) -> dict[str, list[Result]]:
    """Results of choices that are done after so many milliseconds, one a seed."""
    listed = []
    for choice, each in times.items():
        runs = [f"{choice}/seed-{seed}" for seed in range(len(each))]
        for seed, time in enumerate(each):
            done = None if time is None else int(time * MS)
            job = {"kind": "incast", "duration_ps": done, "fct_p99_ps": 3 * MS, "retransmits": 123_456 + seed}
            place = folder / choice / f"seed-{seed}"
            place.mkdir(parents=True)
            ports = {"drops": 10**9, "marks": 987_654_321, "queue_max_bytes": 10**6 + seed}
            summary = {"choice": choice, "seed": seed, "done_ps": done, "jobs": {"a": job}, "ports": ports}
            (place / "summary.json").write_text(json.dumps(summary))
        listed.append({"name": choice, "folder": runs[0], "runs": runs})
    (folder / "summary.json").write_text(json.dumps({"choices": listed}))
    return by_choice(Result.open(folder).runs)


def test_a_proven_lead_is_told_with_its_interval(tmp_path: Path) -> None:
    said = answer(choices(tmp_path, deep=[7, 7.2, 7.4], shallow=[4, 4.2, 4.3]))
    assert said[0] == "shallow finishes all jobs first, after 4.16 ms."
    assert said[1].startswith("With deep it takes 73 % longer (95 % interval: ")
    assert said[1].endswith("; in 3 of 3 seeds).")
    assert len(said) == 2


def test_who_is_not_proven_slower_does_not_share_the_place(tmp_path: Path) -> None:
    said = answer(choices(tmp_path, dctcp=[5.5, 5.2, 5.6, 5.4, 14.4], shallow=[4.1, 4.3, 4.5, 4.4, 4.6]))
    assert said == [
        "shallow finishes all jobs first, after 4.38 ms, but 5 seeds do not tell dctcp from shallow.",
        "Some 7 seeds would (--seeds 7).",
    ]


def test_seeds_without_chance_are_told(tmp_path: Path) -> None:
    alike = choices(tmp_path, fixed=[4, 4, 4], random=[7, 7.2, 7.4])
    for choice, runs in alike.items():
        for seed, run in enumerate(runs):
            cast("dict[str, Any]", run.summary)["fingerprint"] = "e3c6" if choice == "fixed" else f"{seed}"
    assert answer(alike)[-1].startswith(
        "All seeds give the same with fixed: nothing there is left to chance."
    )
    assert answer({"": alike["fixed"]})[-1].startswith("All seeds give the same: nothing")
    assert len(answer({"": alike["random"]})) == 1


def test_a_factor_has_an_interval_of_factors(tmp_path: Path) -> None:
    said = answer(choices(tmp_path, a=[1, 1.1, 0.9], c=[3, 3.5, 2.6]))
    assert said[1].startswith("With c it takes 3.02 times as long (95 % interval: 2.68 to ")
    assert said[1].endswith(" times; in 3 of 3 seeds).")


def test_a_shared_place_says_within_what(tmp_path: Path) -> None:
    said = answer(choices(tmp_path, a=[10, 11, 12], b=[10.1, 11.1, 12.1], c=[20, 22, 24]))
    assert said[0] == "a and b finish all jobs first, after 11 ms (alike: within 5 %)."
    assert answer(choices(tmp_path / "2", a=[10, 11], b=[10, 11]))[0] == (
        "The choices are alike by all jobs done: 10.5 ms, within 5 %."
    )


def test_who_did_not_finish_competes_with_nobody(tmp_path: Path) -> None:
    said = answer(choices(tmp_path, whole=[5, 6], dead=[1, None]))
    assert said == [
        "Only whole finished: all jobs were done after 5.48 ms.",
        "dead did not finish, and competes with no other.",
    ]
    assert answer(choices(tmp_path / "2", a=[None], b=[None])) == [
        "a and b cannot be compared: none finished what is measured."
    ]


def test_one_seed_is_said_to_be_one(tmp_path: Path) -> None:
    said = answer(choices(tmp_path, a=[5], b=[6]))
    assert said[1] == "With b it takes 20 % longer."
    assert (
        said[2] == "Each choice was run with one seed, so small differences can be chance: --seeds 5 shows."
    )


def test_a_run_alone_and_its_seeds(tmp_path: Path) -> None:
    assert answer(choices(tmp_path, a=[5])) == ["All jobs were done after 5 ms."]
    assert answer(choices(tmp_path / "2", a=[4, 5])) == [
        "All jobs were done after 4.47 ms, the mean of 2 seeds (4 ms to 5 ms)."
    ]


@pytest.mark.parametrize("count", [1, 2, 4, 5, 12])
@pytest.mark.parametrize("every", [False, True])
def test_tables_fit_80_columns_and_break_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, every: bool
) -> None:
    names = [f"choice-with-a-name-{n}" for n in range(count)]
    found = choices(tmp_path, **{name: [7.1 + n, 8.2 + n] for n, name in enumerate(names)})
    console = SafeConsole(width=80, color_system=None)
    monkeypatch.setattr(show, "out", console)
    with console.capture() as printed:
        for table in show_choices.tables(found, every=every):
            console.print(table)
    said = printed.get()
    assert "…" not in said
    assert max(map(len, said.splitlines())) <= 80
    for whole in ("123\u202f456", "987\u202f654\u202f321", "1\u202f000\u202f000\u202f000"):
        assert said.count(whole) >= count
    if count > 1:
        assert "★ choice-with-a-name-0" in said
