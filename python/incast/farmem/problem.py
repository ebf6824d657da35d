"""Which program gets which memory: the question, as people write it.

```yaml
fixed: 1us                     # of each request apart from distance and switches
hop: 500ns                     # a switch, passed once
programs:
  - {name: classify, memory: 150MB, faults: 27000, written_back: 9000, time: 400ms, latency: 5us}
  - {name: convolve, trace: convolve.trace, local: 50%, time: 2s, degradation: 20%}
nodes:
  - {name: rack, memory: 1GB, distance: 20m, hops: 1, bandwidth: 100Gbps}
  - {name: hall, memory: 64GB, distance: {cpu0: 300m, cpu1: 80m}, bandwidth: 40Gbps, busy: 25%, delay: 2us}
```

Programs come as figures of a run, or as a trace. Others may congest the way to a node: `delay` is what they
add to each request, `busy` the part of its bandwidth that they take.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, ValidationError, WithJsonSchema, model_validator

from incast.document import read_file
from incast.errors import ScenarioError
from incast.farmem.distance import Length, latency, parse_length
from incast.farmem.instance import Instance, Place, Task
from incast.farmem.traced import Cache, Counts, Traced
from incast.hints import unknown
from incast.lab.base import Model, Name
from incast.lab.findings import Findings
from incast.lab.quantities import PositiveSize, PositiveTime, Rate, Time
from incast.lab.validate import problems
from incast.quantity import parse_bytes, parse_rate, parse_time

__all__ = ["Problem", "read"]

_PAGE = "4KiB"


def _percent(value: object) -> str:
    if isinstance(value, str) and value.strip().endswith("%"):
        try:
            share = float(value.strip()[:-1])
        except ValueError:
            share = -1.0
        if 0 <= share < float("inf"):
            return value
    raise ValueError(f"{value!r} is not a share: a number and % is expected, like 20%")


def _share(text: str) -> float:
    return float(text.strip()[:-1]) / 100


def _part(value: object) -> str:
    text = _percent(value)
    if not 0 <= _share(text) < 1:
        raise ValueError(f"{text!r} is not allowed: it must be at least 0% and below 100%")
    return text


def _local(value: object) -> str:
    text = value if isinstance(value, str) else ""
    if text.strip().endswith("%"):
        if not 0 < _share(_percent(text)) <= 1:
            raise ValueError(f"{text!r} is not allowed: it must be above 0% and at most 100%")
    else:
        parse_bytes(text)
    return text


_PERCENT = {"type": "string", "pattern": "^ *[0-9.]+ *% *$"}
Percent = Annotated[str, PlainValidator(_percent), WithJsonSchema({**_PERCENT, "examples": ["20%"]})]
Part = Annotated[str, PlainValidator(_part), WithJsonSchema({**_PERCENT, "examples": ["25%"]})]
Local = Annotated[
    str, PlainValidator(_local), WithJsonSchema({"type": "string", "examples": ["200MB", "50%"]})
]
Amount = Annotated[int, Field(ge=0, le=2**48)]


class ProgramEntry(Model):
    """A program that needs memory of a node."""

    name: Name
    """Its name."""
    memory: PositiveSize | None = None
    """How much; of a traced program, without a value, what is not local."""
    time: PositiveTime | None = None
    """How long it takes with all memory local; of a traced program, without a value, as in the trace."""
    faults: Amount | None = None
    """Requests to the node in that time."""
    fetched: Amount | None = None
    """Pages that come with them, and as many go back with a request; without a value, a page a fault."""
    written_back: Amount = 0
    """Pages that go back."""
    page: PositiveSize = _PAGE
    """Size of a page."""
    trace: str | None = None
    """A trace of its page faults, instead of these figures; the file is sought next to the problem's."""
    local: Local | None = None
    """Local memory of a traced program: a size, or a share of what it has in use."""
    policy: str | None = None
    """Which page leaves, of a traced program: fifo, clock or lru; without a value, as in the trace."""
    at: Name | None = None
    """Where it runs, if nodes have several distances."""
    latency: PositiveTime | None = None
    """A request may take so long at most, without transmission."""
    degradation: Percent | None = None
    """The program may take so much longer at most."""
    weight: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    """How much its degradation counts."""

    @model_validator(mode="after")
    def _is_known(self) -> ProgramEntry:
        if self.trace is None:
            for field, value in (("memory", self.memory), ("time", self.time), ("faults", self.faults)):
                if value is None:
                    raise ValueError(f"{field} is required, or a trace")
            for field, value in (("local", self.local), ("policy", self.policy)):
                if value is not None:
                    raise ValueError(f"{field} is for a program with a trace")
        else:
            if self.local is None:
                raise ValueError("local is required with a trace: a size, or a share like 50%")
            for field, value in (("faults", self.faults), ("fetched", self.fetched)):
                if value is not None:
                    raise ValueError(f"{field} comes from the trace: leave it out")
        return self


class NodeEntry(Model):
    """A node with memory."""

    name: Name
    """Its name."""
    memory: PositiveSize
    """How much it gives."""
    distance: Length | dict[str, Length]
    """From all programs, or from each place where some run."""
    hops: Annotated[int, Field(ge=0, le=64)] = 0
    """Switches on the way."""
    bandwidth: Rate
    """Of its link, each direction."""
    busy: Part = "0%"
    """The part of the bandwidth that others take."""
    delay: Time = "0s"
    """What others add to each request."""


class Problem(Model):
    """Programs and nodes."""

    fixed: Time = "0s"
    """What a request takes apart from distance and switches, there and back."""
    hop: Time = "0s"
    """What a switch takes, passed once."""
    write_back: bool = True
    """Whether faults wait for the page that leaves."""
    programs: Annotated[list[ProgramEntry], Field(min_length=1, max_length=5000)]
    """The programs that need memory."""
    nodes: Annotated[list[NodeEntry], Field(min_length=1, max_length=1000)]
    """The nodes that have it."""


def read(path: Path) -> Instance:
    """The problem in a YAML file; `ScenarioError` names all that is wrong."""
    document = read_file(path)
    try:
        problem = Problem.model_validate(document.plain())
    except ValidationError as error:
        raise ScenarioError(problems(error, document, of=Problem)) from None
    findings = Findings(document)
    _check_names("programs", [program.name for program in problem.programs], findings)
    _check_names("nodes", [node.name for node in problem.nodes], findings)
    places = [_place(problem, number, node, findings) for number, node in enumerate(problem.nodes)]
    tasks = [_task(program, number, path.parent, findings) for number, program in enumerate(problem.programs)]
    findings.stop_if_any()
    return Instance(
        tasks=tuple(task for task in tasks if task),
        places=tuple(places),
        fixed=parse_time(problem.fixed),
        write_back=problem.write_back,
    )


def _check_names(kind: str, names: list[str], findings: Findings) -> None:
    counted = Counter(names)
    for number, name in enumerate(names):
        if counted[name] > 1:
            message = f"{name!r} is there {counted[name]} times: names must differ"
            findings.add((kind, number, "name"), message)


def _place(problem: Problem, number: int, node: NodeEntry, findings: Findings) -> Place:
    """The node, and its latency from wherever programs run."""
    fixed = parse_time(problem.fixed) + parse_time(node.delay)
    hop = parse_time(problem.hop)
    by_name = node.distance if isinstance(node.distance, dict) else {}
    distances: dict[str | None, int] = {}
    for at in {program.at for program in problem.programs}:
        said = node.distance if isinstance(node.distance, str) else by_name.get(at or "")
        if said is None:
            needs = f"programs at {at!r}" if at else "programs that don't say where they run (at)"
            findings.add(("nodes", number, "distance"), f"has no distance for {needs}")
            continue
        distances[at] = parse_length(said)
    used = {program.at for program in problem.programs}
    for name in by_name:
        if name not in used:
            known = [at for at in used if at]
            findings.add(("nodes", number, "distance", name), unknown("where a program runs", name, known))
    rate = parse_rate(node.bandwidth)
    return Place(
        name=node.name,
        memory=parse_bytes(node.memory),
        distances=distances,
        latencies={at: latency(mm, node.hops, fixed, hop) for at, mm in distances.items()},
        rate=max(1, rate - round(rate * _share(node.busy))),
    )


def _task(program: ProgramEntry, number: int, folder: Path, findings: Findings) -> Task | None:
    limits: dict[str, Any] = {
        "at": program.at,
        "latency": parse_time(program.latency) if program.latency else None,
        "degradation": _share(program.degradation) if program.degradation else None,
        "weight": program.weight,
    }
    if program.trace is None:
        assert program.memory
        assert program.time
        faults, back = program.faults or 0, program.written_back
        fetched = program.fetched if program.fetched is not None else faults
        together = max(1, math.ceil(fetched / max(1, faults)))
        counts = Counts(0, 0, faults, fetched, faults, back, math.ceil(back / together))
        if fetched < faults:
            findings.add(("programs", number, "fetched"), "a fault fetches at least a page")
        memory, time = parse_bytes(program.memory), parse_time(program.time)
        return Task(program.name, memory, time, parse_bytes(program.page), counts, **limits)
    return _traced(program, number, folder, findings, limits)


def _traced(
    program: ProgramEntry, number: int, folder: Path, findings: Findings, limits: dict[str, Any]
) -> Task | None:
    assert program.trace
    assert program.local
    at = ("programs", number)
    try:
        traced = Traced.read(folder / program.trace)
    except ScenarioError as error:
        for each in error.problems:
            findings.add((*at, "trace"), f"{program.trace}: {each.message}")
        return None
    page = parse_bytes(program.page) if program.page != _PAGE else traced.page
    try:
        footprint = traced.footprint(page)
    except ValueError as error:
        findings.add((*at, "page"), str(error))
        return None
    local = (
        round(_share(program.local) * footprint)
        if program.local.strip().endswith("%")
        else parse_bytes(program.local)
    )
    policy = program.policy or traced.policy
    try:
        counts = traced.counts(page, Cache(max(1, local // page), policy))
    except ValueError as error:
        findings.add((*at, "policy"), f"{policy!r}: {error}")
        return None
    memory = parse_bytes(program.memory) if program.memory else max(1, footprint - local)
    time = parse_time(program.time) if program.time else traced.computed_ps
    if not time:
        findings.add((*at, "time"), "the trace has no times: say how long the program takes")
    return Task(program.name, memory, time, page, counts, **limits)
