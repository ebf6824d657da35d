"""Programs on remote memory: what they do to their memory, how pages are exchanged, and what that costs."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from incast.incomplete import by_outcome
from incast.kinds.job import Columns, Job, Site, Traits
from incast.lab.base import Kind, Model, Probability, Selector
from incast.lab.quantities import InBase, PositiveSize, Time
from incast.metric import Metric
from incast.quantity import parse_bytes, parse_share
from incast.report.parts import Drawn, Section, Table
from incast.report.run import Run

_METRICS = (
    Metric("degradation_percent", "degradation", row="always", signed=True),
    Metric("lost", "programs lost", row="any"),
    Metric("stall_ps", "time in faults"),
    Metric("faults", "page faults"),
    Metric("hit_ratio", "hit ratio", 1, row="always"),
    Metric("fault_latency_mean_ps", "fault mean"),
    Metric("fault_latency_p50_ps", "fault p50", row="always"),
    Metric("fault_latency_p90_ps", "fault p90"),
    Metric("fault_latency_p99_ps", "fault p99", row="always"),
    Metric("fault_latency_max_ps", "fault max"),
    Metric("fetched_bytes", "pages fetched", 0),
    Metric("written_back_bytes", "pages written back", 0),
)
"""Figures of a job's programs on remote memory, all together or means; a fault is one that fetches."""
_TRACE_BYTES_MAX = 16_000_000
_WORD = 8

_Accesses = Annotated[int, Field(ge=1, le=1_000_000_000)]
_Threads = Annotated[int, Field(ge=1, le=256)]


def _local(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r}: expected a size like 200MB, or a share like 25%")
    if parse_share(value) is None and parse_bytes(value) < 1:
        raise ValueError(f"{value!r} is not allowed: it must be above zero")
    return value


def _in_base(local: str) -> dict[str, int | float]:
    share = parse_share(local)
    return {"bytes": parse_bytes(local)} if share is None else {"share": share}


LocalSize = Annotated[
    str,
    PlainValidator(_local),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^ *([0-9]+\.?[0-9]*|\.[0-9]+) *(B|[kKMGT]B|[KMGT]iB|%) *$",
            "description": "A size like 200MB, or a share of what a program has in use, like 25%",
        }
    ),
    InBase(_in_base),
]


class FileTrace(Kind):
    """A traced program's accesses, thread by thread: `incast farmem run --trace` writes them."""

    kind: Literal["trace"] = "trace"
    file: str
    """The trace, up to 16 MB."""


class _Accessed(Kind):
    size: PositiveSize
    """Size of the accessed memory. All of it is in remote memory at the start."""
    accesses: _Accesses
    """Number of accesses to pages."""
    writes: Probability = 0.0
    """Part of the accesses that write."""
    compute: Time = "1us"
    """Computing time before each access."""
    threads: _Threads = 1
    """Threads of each program: each has an equal share of the accesses, and their waits overlap."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: one kind, and the order of its accesses."""
        said = super().base_units()
        return {**said, "kind": "accesses", "order": said["kind"]}


class SequentialAccesses(_Accessed):
    """Pages in sequence, repeatedly; each thread has its share of the pages."""

    kind: Literal["sequential"] = "sequential"


class RandomAccesses(_Accessed):
    """Random pages, all equally likely."""

    kind: Literal["random"] = "random"


class ZipfAccesses(_Accessed):
    """Random pages with a Zipf distribution."""

    kind: Literal["zipf"] = "zipf"
    skew: Annotated[float, Field(ge=0.01, le=10)] = 1.0
    """The page of rank k has a weight of k^-skew."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: the skew says which order it is."""
        said = super().base_units()
        said["order"] = {"zipf": said.pop("skew")}
        return said


class Convolution(Kind):
    """A square matrix of float64 is convolved into another, row by row. Remote memory has it at the start."""

    kind: Literal["convolution"] = "convolution"
    matrix: Annotated[int, Field(ge=1, le=1_000_000)]
    """Its rows and columns."""
    kernel: Annotated[int, Field(ge=1, le=999)] = 3
    """Rows and columns of the kernel: an odd number."""
    times: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Number of repetitions."""
    compute: Time = "1us"
    """Computing time before each access to a page's part of a row: the rows above and below, and that of
    the result."""
    threads: _Threads = 1
    """Threads of each program: each has an equal share of the rows, and their waits overlap."""


FarmemPattern = Annotated[
    FileTrace | SequentialAccesses | RandomAccesses | ZipfAccesses | Convolution, Field(discriminator="kind")
]


class FarmemCosts(Model):
    """How long things take on one core."""

    handler: Time = "0s"
    """A fault is handled, one that fetches nothing too."""
    compress: Time = "0s"
    """A page is compressed before it leaves."""
    decompress: Time = "0s"
    """A page that came is decompressed."""
    serve: Time = "0s"
    """A memory node reads or writes a page, one request at a time."""


class Farmem(Job):
    """Programs whose memory is at memory nodes, each behind a local page cache (document 004)."""

    traits = Traits(judged="own", flows="lasting")
    metrics = _METRICS
    columns = {
        "programs": Columns(
            "job host memory outcome",
            "pages local_pages threads all_local_ps start_ps end_ps stall_ps accesses hits faults "
            "fetched written_back",
        ),
        "faults": Columns("job host", "start_ps latency_ps fetched"),
    }

    kind: Literal["farmem"] = "farmem"
    programs: Selector
    """The hosts, each of which runs one program; its threads need a core each."""
    memory: Selector
    """The memory nodes: programs take them in turn."""
    pattern: FarmemPattern
    """Memory accesses of each program."""
    local: LocalSize
    """Local memory of each program: a size, or a share of its peak memory in use."""
    page: PositiveSize = "4KiB"
    """Page size: a power of two from 4KiB to 2MiB."""
    policy: Literal["fifo", "clock", "lru"] = "fifo"
    """Eviction policy."""
    read_ahead: Annotated[int, Field(ge=0, le=511)] = 0
    """Following pages fetched with the one needed; half of the local memory at most."""
    pages_a_request: Annotated[int, Field(ge=1, le=512)] = 1
    """Pages per request. Requests of a fault go one after the other."""
    write_back: Literal["before", "after"] = "before"
    """A fault writes back the leaving page before it fetches, or sends it after its request."""
    write_buffer: Annotated[int, Field(ge=1, le=1_048_576)] = 64
    """With `after`: a fault waits while more pages than these are on their way back."""
    schedule: Literal["fifo", "reads-first", "shortest-first"] = "fifo"
    """Transfers in order; fetches before write-backs, which have their own stream; or, at the memory node,
    also fetches of few pages before those of many."""
    compression: Annotated[float, Field(ge=1, le=1000)] = 1.0
    """A page travels as its size divided by this."""
    costs: FarmemCosts = FarmemCosts()
    """How long things take."""

    def work(self, site: Site) -> dict[str, Any]:
        """What the core reads."""
        programs, memory = site.hosts(self.programs, "programs"), site.hosts(self.memory, "memory")
        if "write_buffer" in self.model_fields_set and self.write_back != "after":
            message = "write_back is before: a fault waits for what leaves, so nothing piles up"
            site.refuse("write_buffer", message)
        said = self.settings()
        if isinstance(self.pattern, FileTrace):
            said["pattern"] = {"kind": "trace", "words": _words(self.pattern.file, site)}
        return {**said, "programs": programs, "memory": memory}

    @classmethod
    def missing(cls, folder: Path, jobs: Sequence[str]) -> dict[str, str]:
        """Programs that were not done."""
        return by_outcome(folder, "programs", "program", ("finished",), jobs)

    @classmethod
    def figures(cls, folder: Path) -> dict[str, dict[str, Any]]:
        """How programs and their faults fared."""
        from incast.kinds.farmem.figures import programs

        return programs(folder)

    @classmethod
    def section(cls, drawn: list[Drawn]) -> Section | None:
        """How long faults wait."""
        from incast.report.paging import paging

        return Section("paging", "Page faults", paging(drawn))

    @classmethod
    def tables(cls, run: Run) -> list[Table]:
        """Programs, and how each fared."""
        from incast.report.paging import programs

        return programs(run)


def _words(name: str, site: Site) -> list[int]:
    """The words of a trace."""
    content = site.read(name, "pattern.file", _TRACE_BYTES_MAX) or b""
    words = array("Q")
    # What a program's death left of the last word is none.
    words.frombytes(content[: len(content) // _WORD * _WORD])
    if sys.byteorder == "big":
        words.byteswap()
    return words.tolist()
