"""The JSON Schema: valid itself, agrees with the examples, refuses what the package refuses."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from helpers import SMALL
from incast import schema
from incast.document import read_file
from incast.lab.scenario import Scenario

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


@cache
def validator() -> Draft202012Validator:
    return Draft202012Validator(schema.published(Scenario))


def errors(scenario: Any) -> list[str]:
    return [error.message for error in validator().iter_errors(scenario)]


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema.published(Scenario))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_valid(path: Path) -> None:
    assert errors(read_file(path).plain()) == []


def test_the_starter_is_valid() -> None:
    assert errors(read_file(Path(str(files("incast") / "starter.yaml"))).plain()) == []


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize(
    "change",
    [
        {"sede": 1},
        {"until": 5},
        {"until": "5Gbps"},
        {"switch": {"buffer": {"kind": "deep"}}},
        {"switch": {"buffer": {"alpha": 0}}},
        {"switch": {"class_queues": {"8": {"kind": "tail-drop"}}}},
        {"switch_overrides": [{"match": "*", "bufer": {}}]},
        {"switch_overrides": [{"buffer": {}}]},
        {"choices": {"a": {"swich": {}}}},
        {"choices": {"a": {"switch": {"queue": {"kind": "step", "threshold": 5}}}}},
        {"jobs": [{"name": "a", "size": "1MB"}]},
        {"jobs": []},
    ],
)
def test_refused(change: dict[str, Any]) -> None:
    assert errors({**SMALL, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"switch": {"buffer": {"alpha": 4}}},
        {
            "switch_overrides": [
                {"match": "*", "buffer": {"alpha": 4}, "queue": {"kind": "step", "threshold": "9kB"}}
            ]
        },
        {"host_overrides": [{"match": "*", "tcp": {"rto_min": ["1ms", "2ms"]}}]},
        {"choices": {"a": {"switch": {"queue": {"kind": "step", "threshold": "65 packets"}}}}},
        {"choices": {"a": {"switch.buffer.alpha": 4, "jobs": {"answers": {"size": "1MB"}}}}},
    ],
)
def test_accepted(change: dict[str, Any]) -> None:
    assert errors({**SMALL, **change}) == []


def test_every_field_is_described() -> None:
    published = schema.published(Scenario)
    for name, part in published["$defs"].items():
        for field, content in part.get("properties", {}).items():
            if field != "kind" and not name.startswith("Partial"):
                assert content.get("description"), f"{name}.{field}"
