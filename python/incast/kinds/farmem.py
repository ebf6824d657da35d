"""Programs on remote memory: what they do to their memory, and what the exchange of pages costs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from incast.lab.base import Kind, Model, Probability
from incast.quantity import PositiveSize, Time, parse_bytes, parse_share

_Accesses = Annotated[int, Field(ge=1, le=1_000_000_000)]


def _local(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r}: expected a size like 200MB, or a share like 25%")
    if parse_share(value) is None and parse_bytes(value) < 1:
        raise ValueError(f"{value!r} is not allowed: it must be above zero")
    return value


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
]


class FileTrace(Kind):
    """What a traced program did: `incast farmem run --trace` writes it."""

    kind: Literal["trace"] = "trace"
    file: str
    """The trace, up to 16 MB."""


class _Accessed(Kind):
    size: PositiveSize
    """Memory that the accesses go to. All of it is in remote memory at the start."""
    accesses: _Accesses
    """How many accesses to pages."""
    writes: Probability = 0.0
    """Part of them that writes."""
    compute: Time = "1us"
    """What the program computes before each."""


class SequentialAccesses(_Accessed):
    """Pages one after the other, again and again."""

    kind: Literal["sequential"] = "sequential"


class RandomAccesses(_Accessed):
    """Any page, each as likely as the others."""

    kind: Literal["random"] = "random"


class ZipfAccesses(_Accessed):
    """Some pages much more often than others."""

    kind: Literal["zipf"] = "zipf"
    skew: Annotated[float, Field(ge=0.01, le=10)] = 1.0
    """The page of rank k has a weight of k^-skew."""


class Convolution(Kind):
    """A square matrix of float64 is convolved into another, row by row. Remote memory has it at the start."""

    kind: Literal["convolution"] = "convolution"
    matrix: Annotated[int, Field(ge=1, le=1_000_000)]
    """Its rows and columns."""
    kernel: Annotated[int, Field(ge=1, le=999)] = 3
    """Those of the kernel: an odd number."""
    times: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """How often."""
    compute: Time = "1us"
    """Before each access to what a page has of a row: the rows above and below, and that of the result."""


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
