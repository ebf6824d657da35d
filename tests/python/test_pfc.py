"""What can't be said of PFC: refused with the field and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import refused

HEAD = """
name: x
topology: {kind: single-switch, hosts: 2, host_link: {rate: 10Gbps, delay: 1us}}
jobs: [{name: c, kind: permutation, size: 1kB, class: 3}]
until: 1ms
"""
ETS = "scheduler: {kind: ets}"
BAD = [
    (f"{{{ETS}, pfc: {{headroom: 0B}}}}", "switch.pfc.headroom", "lose nothing here"),
    (f"{{{ETS}, pfc: {{xoff: {{kind: static, limit: 5kB}}, xon: 6kB}}}}", "switch.pfc.xon", "at most 5kB"),
    (f"{{{ETS}, pfc: {{xoff: {{alpha: 0.001}}, xon: 1MB}}}}", "switch.pfc.xon", "above XOFF"),
    (f"{{{ETS}, buffer: {{kind: static, limit: 1MB}}, pfc: {{}}}}", "switch.pfc", "kind shared"),
    (f"{{{ETS}, buffer: {{kind: voq}}, pfc: {{}}}}", "switch.pfc", "kind shared"),
    ("{pfc: {}}", "switch.pfc", "ets"),
    (f"{{{ETS}, pfc: {{watchdog: {{poll: 1ms, detection: 1ms, restoration: 1ms}}}}}}", "detection", "3.35"),
    (f"{{{ETS}, pfc: {{watchdog: {{detection: 50ms}}}}}}", "switch.pfc.watchdog.detection", "at least 100ms"),
    (f"{{{ETS}, pfc: {{headroom_pool: 10kB}}}}", "switch.pfc.headroom_pool", "160000B"),
    (f"{{{ETS}, buffer: {{size: 500kB}}, pfc: {{}}}}", "switch.pfc.headroom", "nothing"),
    (f"{{{ETS}, pfc: {{classes: [8]}}}}", "switch.pfc.classes[0]", "0 to 7"),
    (f"{{{ETS}, pfc: {{classes: []}}}}", "switch.pfc.classes", ""),
    (f"{{{ETS}, pfc: {{quanta: 0}}}}", "switch.pfc.quanta", ""),
]


@pytest.mark.parametrize(("switch", "path", "allowed"), BAD)
def test_is_refused(tmp_path: Path, switch: str, path: str, allowed: str) -> None:
    told = [str(problem) for problem in refused(tmp_path, f"{HEAD}switch: {switch}\n")]
    assert any(path in each and allowed in each for each in told), told


def test_what_the_core_refuses_is_told_where_it_is_written(tmp_path: Path) -> None:
    over = "switch_overrides:\n  - {match: 'switch*', pfc: {xoff: {alpha: 0.001}, xon: 1MB}}\n  - {match: switch0}\n"
    (problem,) = refused(tmp_path, f"{HEAD}switch: {{{ETS}}}\n{over}")
    assert (problem.path, problem.line) == ("switch_overrides[0].pfc.xon", 8)
    assert "above XOFF" in problem.message
