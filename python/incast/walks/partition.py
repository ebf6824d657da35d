"""Which server owns which node: ranges of one size, or a file as METIS writes it (manual, section 4.2)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from incast.walks.problem import refuse

U16 = npt.NDArray[np.uint16]

SERVERS_MAX = 256


def read(file: Path | None, nodes: int, servers: int) -> U16:
    """The owner of each node, in the order of the nodes' names."""
    if not 1 <= servers <= SERVERS_MAX:
        refuse(f"{servers} servers: 1 to {SERVERS_MAX} are allowed", "--servers")
    if file is None:
        return (np.arange(nodes, dtype=np.uint64) * servers // nodes).astype(np.uint16)
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except OSError as error:
        refuse(error.strerror or str(error), file=file)
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not (text.isascii() and text.isdigit() and int(text) < servers):
            allowed = f"0 to {servers - 1} is allowed (--servers {servers})"
            refuse(f"{text!r} is not a server's number: {allowed}", file=file, line=number)
    if len(lines) != nodes:
        refuse(f"{len(lines)} lines for {nodes} nodes: one for each, in the order of their names", file=file)
    return np.array(lines, dtype=np.uint16)
