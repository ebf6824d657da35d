"""What people may say about walks: the parameters of `incast.walk`, and of the command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import InstanceOf

from incast.arguments import Small
from incast.walks.request import Numbers
from incast.walks.settings import ServerSettings


class Options(Numbers, total=False):
    """All parameters of walks."""

    app: str
    """The application, `ppr` by default."""
    weighted: bool
    """Edges are chosen by weight."""
    directed: bool | None
    """Edges go one way; by default a networkx graph is as it is, and others go both ways."""
    threads: Small | None
    """Threads of walks in memory; all cores by default."""
    servers: Small | None
    """Processes that walk, each with its part of the graph; in memory by default."""
    cluster: str | None
    """A Ray cluster, a server on each node: `ray://HOST:PORT`, `auto` or `local`."""
    partition: str | Path | None
    """With servers: a METIS partition file, or how many nodes each server owns, like `100,100,50`."""
    settings: InstanceOf[ServerSettings] | Mapping[str, Any] | None
    """With servers: queues, loss detection, generation, datagrams; fields as of a scenario's job `walk`."""
    changes: str | Path | InstanceOf[Iterable[Sequence[Any]]] | None
    """Edges that come and go while walks run: a CSV file, `-` for standard input, or its rows."""
    metrics: str | None
    """With servers: `HOST:PORT` where Prometheus finds figures while walks run."""
