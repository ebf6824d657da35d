"""Refusals are in our words, not in those of libraries, and in JSON where JSON was asked for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from testkit.study import NO_TESTS

from helpers import written
from incast.errors import ScenarioError
from incast.study import claims
from studies import SMALL as STUDY
from studies import written as write_study
from typed import call


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--json"],
        ["run", "x.yaml", "--seeds", "many", "--json"],
        ["compare", "a", "--json"],
        ["walk", "--json", "--no-such-option"],
        ["study", "run", "--json", "--jobs", "0", "x"],
    ],
)
def test_json_is_answered_in_json_even_where_the_command_line_is_wrong(arguments: list[str]) -> None:
    found = call(*arguments)
    assert found.returncode == 2
    answer = json.loads(found.stdout)
    assert answer["ok"] is False
    assert answer["problems"][0]["message"]
    assert "╭" not in found.stdout + found.stderr


def test_messages_name_fields_and_nothing_of_the_machinery(tmp_path: Path) -> None:
    program = {"name": "p", "memory": "1GB", "faults": 1, "time": "1s", "latency": "5us"}
    node = {"name": "n", "memory": "1GB", "distance": [5], "bandwidth": "1Gbps"}
    file = written(tmp_path, {"programs": [program], "nodes": [node]})
    found = call("farmem", "allocate", file)
    assert found.returncode == 2
    assert "nodes[0].distance: " in found.stderr
    assert not any(word in found.stderr for word in ("function-", "_length", "dict[", "Errno"))
    write_study(tmp_path / "study", {**STUDY, "base": [1]}, NO_TESTS)
    found = call("study", "check", tmp_path / "study")
    assert found.returncode == 2
    assert not any(word in found.stderr for word in ("function-", "dict[", "str,any", "Errno", "Traceback"))
    (tmp_path / "graph.csv").mkdir()
    for command in (
        ["walk", tmp_path / "graph.csv"],
        ["mine", tmp_path, "--support", "0.5"],
        ["run", tmp_path],
    ):
        found = call(*command)
        assert found.returncode in (2, 4)
        assert "Errno" not in found.stderr
        assert "Traceback" not in found.stderr


def test_messages_on_files_are_our_words(tmp_path: Path) -> None:
    (tmp_path / "claims.toml").symlink_to("/dev/zero")
    with pytest.raises(ScenarioError, match="can't read it: the file is too large") as refusal:
        claims.read(tmp_path / "claims.toml")
    assert "Errno" not in str(refusal.value)
    (tmp_path / "graph.parquet").mkdir()
    (tmp_path / "graph.csv").mkdir()
    for name in ("graph.parquet", "graph.csv", "none.parquet", "none.csv"):
        for command in (["walk", tmp_path / name], ["mine", tmp_path / name, "--support", "0.5"]):
            found = call(*command, "--out", tmp_path / "out")
            assert found.returncode == 2
            assert re.search(r"is a directory|no such file", found.stderr), found.stderr
            assert not re.search(r"PlRefPath|os error|Errno|Traceback", found.stderr)
