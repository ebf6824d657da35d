"""Which server owns which node: ranges, or a file as METIS writes it (manual, section 4.2)."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from incast.bounded import read_bytes
from incast.errors import why
from incast.hints import shortened
from incast.quantity import parse_whole
from incast.walks.problem import refuse

U16 = npt.NDArray[np.uint16]

SERVERS_MAX = 256
_LINE_BYTES, _HEAD_BYTES = 16, 1 << 12
"""Most that a line of a node, and lines too many, may take."""
_SIZES = re.compile(r"[0-9]+(,[0-9]+)+")


def read(said: str | Path | None, nodes: int, servers: int) -> U16:
    """The owner of each node, in the order of the nodes' names."""
    if not 1 <= servers <= SERVERS_MAX:
        refuse(f"{servers} servers: 1 to {SERVERS_MAX} are allowed", "--servers")
    if said is None:
        return (np.arange(nodes, dtype=np.uint64) * servers // nodes).astype(np.uint16)
    if _SIZES.fullmatch(str(said)) and not os.path.exists(said):  # noqa: PTH110 - Path's raises where it is long
        return _ranges([parse_whole(size, nodes) for size in str(said).split(",")], nodes, servers)
    return _file(Path(said), nodes, servers)


def _ranges(said: list[int | None], nodes: int, servers: int) -> U16:
    """The first so many nodes belong to the first server, and so on."""
    sizes = [size for size in said if size is not None]
    if len(sizes) != len(said):
        refuse(f"a size above {nodes}, but the graph has no more nodes", "--partition")
    if len(sizes) != servers:
        refuse(f"{len(sizes)} sizes for {servers} servers: one for each", "--partition")
    if sum(sizes) != nodes:
        refuse(f"{sum(sizes)} nodes in all, but the graph has {nodes}", "--partition")
    return np.repeat(np.arange(servers, dtype=np.uint16), sizes)


def _file(file: Path, nodes: int, servers: int) -> U16:
    try:
        lines = read_bytes(file, _HEAD_BYTES + _LINE_BYTES * nodes).decode("utf-8", "replace").splitlines()
    except OSError as error:
        refuse(why(error), file=file)
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if parse_whole(text, servers - 1) is None:
            allowed = f"0 to {servers - 1} is allowed (--servers {servers})"
            refuse(f"{shortened(text)!r} is not a server's number: {allowed}", file=file, line=number)
    if len(lines) != nodes:
        refuse(f"{len(lines)} lines for {nodes} nodes: one for each, in the order of their names", file=file)
    return np.array(lines, dtype=np.uint16)
