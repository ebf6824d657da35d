"""Studies that judge their claims themselves: what they say is shown, and what they can't say is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from incast.cli.app import app
from incast.cli.exits import Exit

CLAIMS = """\
document = "made up"

[[claim]]
id = "S1"
kind = "finding"
place = "page 1"
text = "Far is slow."
checked_by = ["verdicts.py"]

[[claim]]
id = "S2"
kind = "finding"
place = "page 2"
text = "Near is slow, too."
figure = "twice"
checked_by = ["verdicts.py"]

[[claim]]
id = "S3"
kind = "question"
place = "page 3"
text = "How far is it?"
reason = "nobody knows"
"""
SCRIPT = """\
import json
from pathlib import Path

kept = Path("kept.csv").read_text().split(",")
print(json.dumps({
    "S1": {"holds": kept[0] == "slow", "figures": f"{kept[0]} indeed"},
    "S2": {"holds": kept[1] == "slow", "figures": kept[1]},
}))
"""


def reproduced(place: Path, *options: str, script: str = SCRIPT, claims: str = CLAIMS) -> Result:
    folder = place / "studies" / "far"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "claims.toml").write_text(claims)
    (folder / "verdicts.py").write_text(script)
    (folder / "kept.csv").write_text("slow,fast")
    return CliRunner().invoke(app, ["reproduce", "--studies", str(place / "studies"), *options])


def test_its_claims_are_shown_as_those_of_others(tmp_path: Path) -> None:
    found = reproduced(tmp_path, "far")
    assert found.exit_code == Exit.OK, found.output
    for word in ("S1", "slow indeed", "twice", "does not hold", "nobody knows", "1 holds", "1 not tested"):
        assert word in found.output
    (listed,) = json.loads(reproduced(tmp_path, "--json").stdout)
    assert listed["study"] == "far"
    assert [each["verdict"] for each in listed["claims"]] == ["holds", "does not hold", "not tested"]
    assert [each["figures"] for each in listed["claims"]] == ["slow indeed", "fast", ""]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("raise OSError('no kept.csv')", "fails: OSError: no kept.csv"),
        ("import sys; sys.exit(3)", "fails: exit code 3"),
        ("print('all fine')", "prints no verdicts"),
        ('print(\'{"S1": {"holds": 1.5, "figures": ""}}\')', "S1.holds"),
        ('print(\'{"S9": {"holds": true, "figures": ""}}\')', "S9, which is no claim"),
    ],
)
def test_a_script_that_can_not_say_it(script: str, said: str, tmp_path: Path) -> None:
    found = reproduced(tmp_path, script=script)
    assert found.exit_code == Exit.FAILED
    assert said in " ".join(found.stderr.split())


def test_tests_of_cells_need_cells(tmp_path: Path) -> None:
    claims = CLAIMS.replace('checked_by = ["verdicts.py"]', 'tests = [{less = ["near", "far"]}]', 1)
    found = reproduced(tmp_path, claims=claims)
    assert found.exit_code == Exit.USAGE
    assert "study.yaml" in found.stderr
