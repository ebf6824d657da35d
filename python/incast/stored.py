"""What is read of a result's `summary.json`, and that it has the types that it was written with.

A result may come from others, or be damaged. A module that reads a summary gets it from here, and need not
check types again. Fields that nobody reads by their name may be anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from incast.bounded import read_json
from incast.document import Node
from incast.errors import ResultError, why
from incast.lab.validate import problems, shown

_MOST = 10**30
"""No figure is larger: a time of 10^18 s."""


def _figure(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MOST:
        raise ValueError(f"expected a number, not {shown(value)}")
    return value


Count = Annotated[int, Field(ge=0, le=2**64 - 1)]
Figure = Annotated[Any, BeforeValidator(_figure)]
Number = Figure | None


class _Part(BaseModel):
    """A part of a summary; a later version may have more fields."""

    model_config = ConfigDict(strict=True, extra="allow")


class _Figures(_Part):
    """Figures by name, whichever there are."""

    __pydantic_extra__: dict[str, Number]


class _Job(_Figures):
    kind: str


class _Ports(_Figures):
    queue_max_port: str | None = None


class _Incomplete(_Part):
    job: str
    outcome: Literal["failed", "unfinished"]
    why: str


class _Verdict(_Part):
    text: str
    figure: str
    value: Number
    holds: bool
    why: str = ""


class _Task(_Part):
    kind: str
    number: Count
    host: str
    start_ps: Count
    from_: str | None = Field(alias="from")
    to: str | None


class _Unfinished(_Part):
    count: Count
    first: list[_Task]


class _Queue(_Part):
    port: str
    class_: Count = Field(alias="class")


class _Deadlock(_Part):
    cycle: list[_Queue] = []
    behind: list[Any] = []


class _Lateness(_Part):
    packets: Count
    late: Count
    allowed_ns: Count
    p50_ns: Count
    p99_ns: Count
    max_ns: Count


class _Run(_Part):
    """The summary of a run."""

    seed: Count
    name: str | None = None
    choice: str | None = None
    end: str = ""
    error: str = ""
    fingerprint: str = ""
    live: bool = False
    skipped_hops: Count = 0
    computing: Literal["free", "charged", "real"] | None = None
    lateness: _Lateness | None = None
    sim_time_ps: Count = 0
    packet_hops: Count = 0
    wall_s: Number = None
    done_ps: Number = None
    jobs: dict[str, _Job] = {}
    flows: _Figures = _Figures()
    ports: _Ports = _Ports()
    plan: _Figures = _Figures()
    incomplete: list[_Incomplete] = []
    thresholds: list[_Verdict] = []
    unfinished_tasks: _Unfinished | None = None
    deadlock: _Deadlock | None = None


class _Choice(_Part):
    name: str
    folder: str
    runs: Annotated[list[str], Field(min_length=1)]


class _Choices(_Part):
    """The summary of several runs."""

    choices: list[_Choice]
    name: str | None = None


class _Graph(_Part):
    nodes: Count
    edges: Count = 0
    arcs: Count
    directed: bool


class _Red(_Part):
    kind: str
    min: Figure = 0
    max: Figure = 0
    gentle: bool = True


class _Settings(_Part):
    queue: _Red | None = None
    limit: Number = None


class _Servers(_Part):
    servers: Count
    seconds: Figure
    finished: Count
    walks_per_s: Figure
    settings: _Settings = _Settings()


class _Walks(_Part):
    """The summary of walks."""

    app: str
    graph: _Graph
    starts: Count
    walks_per_start: Count
    top: list[dict[str, str | bool | Number]]
    interrupted: bool = False
    finished: Count = 0
    given_up: Count = 0
    unwritten: list[str] = []
    error: str = ""
    servers: _Servers | None = None


class _Broadcast(_Part):
    """The summary of a broadcast on hosts."""

    bytes: Count
    interrupted: bool
    failed: str | None = None


class _Mine(_Part):
    """The summary of mining."""

    transactions: Count
    itemsets: Count


def read_run(file: Path) -> dict[str, Any]:
    """The summary of a run, or one that lists runs; raises `ResultError`."""
    content = _object(file)
    if "seed" not in content and "choices" not in content:
        raise ResultError(f"{file}: not a summary: it has neither the seed of a run nor the runs of choices")
    return _checked(file, content, _Choices if "choices" in content else _Run)


def read_walks(file: Path) -> dict[str, Any]:
    """The summary of walks; raises `ResultError`."""
    return _checked(file, _object(file), _Walks)


def read_broadcast(file: Path) -> dict[str, Any]:
    """The summary of a broadcast on hosts; raises `ResultError`."""
    return _checked(file, _object(file), _Broadcast)


def read_mine(file: Path) -> dict[str, Any]:
    """The summary of mining; raises `ResultError`."""
    return _checked(file, _object(file), _Mine)


def _object(file: Path) -> dict[str, Any]:
    try:
        content = read_json(file)
    except FileNotFoundError:
        raise ResultError(f"{file.parent} is not a result: it has no {file.name}") from None
    except (OSError, ValueError) as error:
        raise ResultError(f"{file}: not readable: {why(error)}") from None
    if not isinstance(content, Mapping):
        raise ResultError(f"{file}: not a summary: expected a mapping of figures")
    return dict(content)


def _checked(file: Path, content: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """The content as it is, where it has the types of the model."""
    try:
        model.model_validate(content)
    except ValidationError as error:
        first = problems(error, Node.of(content), of=model)[0]
        raise ResultError(f"{file}: not a summary: {first}") from None
    return content
