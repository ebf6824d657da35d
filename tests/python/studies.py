"""A study for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from incast.errors import Problem, ScenarioError
from incast.study import Study, load

SMALL: dict[str, Any] = {
    "name": "small",
    "base": {
        "name": "small",
        "topology": {"kind": "single-switch", "hosts": 4, "host_link": {"rate": "10Gbps"}},
        "jobs": [{"name": "answers", "kind": "incast", "receiver": "host0", "size": "100kB"}],
        "until": "10s",
    },
    "axes": {
        "buffer": {
            "deep": {"published": {"buffer": "deep"}},
            "shallow": {"set": {"switch.buffer": {"size": "100kB"}}, "published": {"buffer": "shallow"}},
        },
        "rounds": {
            "one": {"set": {"jobs.answers.rounds": 1}, "published": {"rounds": 1}},
            "two": {"set": {"jobs": {"answers": {"rounds": 2}}}, "published": {"rounds": 2}},
        },
    },
    "seeds": 2,
    "metrics": {
        "time": "jobs.answers.duration",
        "drops": "ports.drops",
        "discards": {"table": "ports", "column": "out_discards", "where": {"port": "switch0:*"}},
    },
    "published": {"column": "ms", "unit": "ms", "metric": "time"},
}
PUBLISHED = "# made up\nbuffer,rounds,ms\ndeep,1,0.3\ndeep,2,0.6\nshallow,1,0.3\nshallow,2,0.6\n"
CLAIMS = """\
document = "made up"

[[claim]]
id = "S1"
kind = "finding"
place = "page 1"
text = "Deep buffers drop less."
tests = [{less = ["deep", "shallow"], metric = "drops"}]

[[claim]]
id = "S2"
kind = "finding"
place = "page 2"
text = "Two rounds take less time than one, and about as much as was published."
tests = [{less = ["two", "one"], over = "deep"}, {within = ["one", "one"], part = 0.1}]

[[claim]]
id = "S3"
kind = "question"
place = "page 3"
text = "Why?"
reason = "nobody knows"
"""
CALIBRATION: dict[str, Any] = {
    "cells": ["deep"],
    "evaluations": 6,
    "parameters": [
        {"field": "topology.host_link.rate", "start": "10Gbps", "low": "2Gbps", "high": "40Gbps"},
    ],
}


def written(folder: Path, content: Mapping[str, Any] | None = None, claims: str = CLAIMS) -> Path:
    """A study's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(dict(SMALL if content is None else content), sort_keys=False)
    (folder / "study.yaml").write_text(text, "utf-8")
    (folder / "published.csv").write_text(PUBLISHED, "utf-8")
    (folder / "claims.toml").write_text(claims, "utf-8")
    return folder


def study(folder: Path, content: Mapping[str, Any] | None = None, claims: str = CLAIMS) -> Study:
    """A study, loaded."""
    return load(written(folder, content, claims))


def refused(folder: Path, content: Mapping[str, Any] | None = None, claims: str = CLAIMS) -> list[Problem]:
    """What is said about a bad study."""
    try:
        study(folder, content, claims)
    except ScenarioError as error:
        return list(error.problems)
    raise AssertionError("the study was accepted")
