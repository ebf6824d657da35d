"""`fidelity: skip`: what it says of itself, and what it does not go with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import incast
from helpers import refused, written
from incast.cli.app import app

LONG = """\
name: long
topology: {kind: single-switch, hosts: 4, host_link: {rate: 10Gbps}}
jobs:
  - {name: copy, kind: bulk, pairs: [[host0, host1], [host2, host3]], size: 300MB}
measure: {interval: 10ms, ports: ["*"], flows: true}
fidelity: skip
"""


def test_a_run_says_how_much_was_skipped(tmp_path: Path) -> None:
    file = written(tmp_path, LONG)
    said = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out"), "--no-report"])
    assert said.exit_code == 0, said.output
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["skipped_hops"] > 4 * summary["packet_hops"]
    line = r"Skipped as steady: [\d\u202f]+ of [\d\u202f]+ packets over links \(9\d %\)"
    assert re.search(line, " ".join(said.output.split(" ")).replace("\n", " "))
    (tmp_path / "again").mkdir()
    (skipping,) = incast.run(file, out=tmp_path / "again" / "out").runs
    assert skipping.summary["fingerprint"] == summary["fingerprint"]
    exact = incast.run(written(tmp_path, LONG.replace("fidelity: skip", "")), out=tmp_path / "exact").runs[0]
    assert "skipped_hops" not in exact.summary
    whole = summary["packet_hops"] + summary["skipped_hops"]
    assert exact.summary["packet_hops"] == pytest.approx(whole, rel=0.01)
    assert exact.summary["flows"]["fct_max_ps"] == pytest.approx(summary["flows"]["fct_max_ps"], rel=0.01)
    assert exact.summary["ports"]["drops"] == summary["ports"]["drops"] == 0


def test_whoever_shows_times_says_that_they_are_approximate(tmp_path: Path) -> None:
    file = written(tmp_path, LONG)
    exact, skipping = tmp_path / "exact", tmp_path / "skipping"
    incast.run(written(tmp_path, LONG.replace("fidelity: skip", "")), out=exact)
    incast.run(written(tmp_path, LONG), out=skipping)

    def said(*words: object) -> str:
        found = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(word) for word in words])
        assert found.exit_code == 0, found.output
        return found.output

    sentence = re.compile(r"Times are approximate with skipping: up to 9\d % of a run was skipped as steady")
    assert sentence.search(said("compare", exact, skipping))
    assert sentence.search(json.loads(said("compare", exact, skipping, "--json"))["approximate"][0])
    assert "approximate" not in said("compare", exact, exact)
    assert "Times are approximate: up to 9" in said("run", file, "--out", tmp_path / "out", "--no-report")
    said("report", skipping)
    page = (skipping / "report.html").read_text()
    assert "Times are approximate: up to 9" in page
    assert re.search(r"<th[^>]*>skipped_hops</th>\s*<td[^>]*>\d{6,}</td>", page)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("measure: {capture: [switch0:host1]}", "captures"),
        ("host: {packet_cost: 1us}", "packets that take time at hosts"),
        ("host: {packet_jitter: 1us}", "packets that take time at hosts"),
        (
            "jobs: [{name: b, kind: background, model: fluid, rate: 1Gbps, pairs: [[host2, host3]]}]",
            "traffic as a fluid",
        ),
        ("switch: {buffer: {kind: cells}}\nhost: {mtu: 1500B}", "switches of cells"),
        ("switch: {buffer: {kind: shared}, scheduler: {kind: ets}, pfc: {classes: [0]}}", "PFC"),
    ],
)
def test_what_does_not_go_with_it_is_refused(tmp_path: Path, more: str, why: str) -> None:
    head = LONG[: LONG.index("jobs" if more.startswith("jobs") else "measure")]
    if more.startswith("jobs"):
        more += "\nuntil: 1s"
    problems = refused(tmp_path, f"{head}fidelity: skip\n{more}\n")
    assert [problem.path for problem in problems] == ["fidelity"]
    assert problems[0].line == head.count("\n") + 1
    assert f"skip is not possible with {why}" in problems[0].message


@pytest.mark.parametrize(("to", "skips"), [("host3", True), ("host1", False)])
def test_datagrams_wake_whom_they_cross(tmp_path: Path, to: str, skips: bool) -> None:
    jobs = "jobs:\n" + f"  - {{name: noise, kind: background, pairs: [[host2, {to}]], rate: 300Mbps}}\n"
    runs = {}
    for fidelity in ("exact", "skip"):
        text = LONG.replace("jobs:\n", jobs).replace(", [host2, host3]", "").replace("300MB", "100MB")
        file = written(tmp_path, text.replace("fidelity: skip", f"fidelity: {fidelity}"))
        (runs[fidelity],) = incast.run(file, out=tmp_path / fidelity).runs
    assert (runs["skip"].summary["skipped_hops"] > runs["skip"].summary["packet_hops"]) == skips
    exact, found = (run.summary["flows"]["fct_max_ps"] for run in runs.values())
    assert found == pytest.approx(exact, rel=0.01)
    exact, found = (run.datagrams["received_packets"].sum() for run in runs.values())
    assert found == pytest.approx(exact, rel=0.02)


FAR = """\
name: far
topology: {{kind: single-switch, hosts: 2, host_link: {{rate: 100Gbps, delay: 200us}}}}
jobs: [{{name: a, kind: bulk, pairs: [[host0, host1]], size: 500MB}}]
{more}
"""


# Most of what is written is in flight, so little of the buffer comes free at once.
@pytest.mark.parametrize(
    ("more", "skips"),
    [
        ("", True),
        ("faults: [{at: 0s, loss: {link: [host0, switch0], probability: 1e-6}}]", False),
        ("host: {tcp: {congestion: bbr}}", False),
    ],
)
def test_a_flow_sends_no_more_than_it_has_to(tmp_path: Path, more: str, skips: bool) -> None:
    summaries = {}
    for fidelity in ("exact", "skip"):
        file = written(tmp_path, FAR.format(more=f"{more}\nfidelity: {fidelity}"))
        (run,) = incast.run(file, out=tmp_path / fidelity).runs
        summaries[fidelity] = run.summary
        assert run.flows["sent_bytes"].sum() == pytest.approx(500e6, rel=0.05)
    assert (summaries["skip"]["skipped_hops"] > 0) == skips
    exact, skip = (each["flows"]["fct_max_ps"] for each in summaries.values())
    assert skip == pytest.approx(exact, rel=0.01)
