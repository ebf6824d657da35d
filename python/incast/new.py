"""A first scenario from four answers: hosts, their links, a job, and what is compared.

Every answer is checked as `incast validate` checks the scenario that it leads to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from incast.document import read_text
from incast.errors import Problem, ScenarioError
from incast.hints import unknown
from incast.quantity import parse_whole

_JOBS = {
    "incast": "{{name: answers, kind: incast, receiver: host0, size: 256kB, rounds: 10}}",
    "all-to-all": "{{name: exchange, kind: all-to-all, size: 256kB}}",
    "permutation": "{{name: copies, kind: permutation, size: 10MB}}",
    "load": "{{name: requests, kind: load, sizes: web-search, load: 0.6, duration: 20ms}}",
    "rpc": '{{name: calls, kind: rpc, clients: host0, servers: "host[1-{last}]", fan_out: {others},'
    "\n     calls: 100, reply: 20kB, arrivals: {{kind: open, every: 5ms}}}}",
    "shuffle": '{{name: terasort, kind: shuffle, size: 1GB, master: host0, compute: "host[1-{half}]",'
    '\n     data: "host[{next}-{last}]", input_replication: 1}}',
}
"""Each kind of job; `last` is the last host's number, `half` that of the last compute node."""

_HOSTS_MIN = 3
"""A shuffle has a master, a compute node and a data node."""

_SAMPLED = {"shuffle": "10ms"}
"""How often queues are sampled, where it is not each 100 µs: a shuffle takes seconds."""

_COMPARED = {
    "marks": """\
  drop: {}
  mark:
    switch: {queue: {kind: step, threshold: 100kB}}
    host: {tcp: {congestion: dctcp}}
""",
    "buffers": """\
  shallow: {}
  deep: {switch: {buffer: {size: 64MB}}}
""",
    "transports": """\
  cubic: {}
  reno: {host: {tcp: {congestion: reno}}}
  bbr: {host: {tcp: {congestion: bbr}}}
""",
    "nothing": "",
}
"""Each thing to compare, as choices."""


@dataclass(frozen=True)
class Question:
    """One of the four."""

    key: str
    """Its name in answers, and the option that answers it."""
    text: str
    default: str
    allowed: tuple[str, ...] = ()
    """The answers, where they are a list."""


QUESTIONS = (
    Question("hosts", "How many hosts are on the switch?", "16"),
    Question("rate", "How fast is the link of each?", "10Gbps"),
    Question("job", "What do they do?", "incast", tuple(_JOBS)),
    Question("compare", "What do you want to compare?", "marks", tuple(_COMPARED)),
)


def check(name: str, answers: Mapping[str, str]) -> None:
    """Refuses a name, or the last of the answers, by which the scenario can't run; raises `ScenarioError`.

    Questions that are not answered yet have their defaults.
    """
    from incast.variants import make_variants  # They take a while, and help needs none.
    from incast.written import WrittenScenario

    key = list(answers)[-1] if answers else ""
    where = f"--{key} {answers[key]}" if key else "NAME"
    for question in QUESTIONS:
        if question.key == key and question.allowed and answers[key] not in question.allowed:
            raise ScenarioError([Problem(unknown("an answer", answers[key], question.allowed), file=where)])
    if key == "hosts" and (parse_whole(answers[key]) or _HOSTS_MIN) < _HOSTS_MIN:
        message = f"{answers[key]} is not allowed: at least {_HOSTS_MIN} hosts are needed"
        raise ScenarioError([Problem(message, file=where)])
    text = scenario(name, answers)
    try:
        make_variants(WrittenScenario(read_text(text), Path(), text))
    except ScenarioError as error:
        raise ScenarioError([Problem(each.message, file=where) for each in error.problems]) from None


def scenario(name: str, answers: Mapping[str, str]) -> str:
    """The scenario, as YAML."""
    said = {question.key: answers.get(question.key, question.default) for question in QUESTIONS}
    last = max((parse_whole(said["hosts"]) or 0) - 1, 1)
    half = max(last // 2, 1)
    job = _JOBS[said["job"]].format(last=last, others=min(last, 10), half=half, next=half + 1)
    compared = _COMPARED[said["compare"]]
    choices = f"# The same with other settings: incast run shows them side by side.\nchoices:\n{compared}"
    return f"""\
# yaml-language-server: $schema=incast.schema.json   (incast schema > incast.schema.json)

name: {_plain(name)}
description: {said["job"]} on one switch
topology:
  kind: single-switch
  hosts: {_plain(said["hosts"])}
  host_link: {{rate: {_plain(said["rate"])}, delay: 1us}}

switch:
  buffer: {{kind: shared, size: 2MB, alpha: 1}}
  queue: {{kind: tail-drop}}

host:
  tcp: {{congestion: cubic, rto_min: 200ms}}

jobs:
  - {job}

measure:
  interval: {_SAMPLED.get(said["job"], "100us")}
  ports: ["switch0:*"]

until: 60s
""" + (f"\n{choices}" if compared else "")


def _plain(answer: str) -> str:
    """An answer as a value in YAML, whatever is in it."""
    return answer if re.fullmatch(r"[\w.-]+", answer) else json.dumps(answer)
