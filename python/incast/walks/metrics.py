"""Figures of walks that run, for Prometheus: an HTTP server for as long as they run.

Names are as Prometheus has them (https://prometheus.io/docs/practices/naming): base units, `_total` behind
counters.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from incast.extras import extra
from incast.walks.board import DROPS, Board
from incast.walks.problem import refuse

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

COUNTERS = {
    "generated": "Walkers generated, lost ones again included.",
    "finished": "Walks finished, each counted once.",
    "arrived": "Walkers that came from other servers.",
    "served": "Walkers served.",
    "steps": "Steps walked.",
    "sleeps": "Sleeps between generations.",
    "loss_checks": "Checks before generation that found a loss.",
    "sent_datagrams": "Datagrams sent.",
    "sent_bytes": "Bytes sent, UDP and IP headers not counted.",
    "received_datagrams": "Datagrams received and understood.",
}
"""Counter of a server, and what it is; the metric is called `incast_walk_NAME_total`."""
LABELLED = {
    "drops": ("cause", {name: name.removeprefix("drops_") for name in DROPS}, "Walkers dropped."),
    "lost": (
        "found",
        {"lost_timeout": "timeout", "lost_direct": "direct", "lost_remote": "remote"},
        "Walkers given up as lost, by how it was found.",
    ),
    "refused": (
        "kind",
        {"refused_datagrams": "datagram", "refused_strangers": "stranger", "refused_records": "record"},
        "What came and was refused.",
    ),
}
"""Counters with one more label: its name, its values by counter of a server, what it is."""
CPU = ("cpu_seconds", "Processor time.")
GAUGES = {
    "queue_walkers": "Walkers that wait.",
    "required_walks": "Walks that are to be finished.",
    "nodes": "Nodes that the server owns.",
}


class Collector:
    """Reads the board when Prometheus asks."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def collect(self) -> Iterator[Metric]:
        """All metrics, with a label for the server."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        servers = self._board.servers
        for name, help_ in COUNTERS.items():
            counter = CounterMetricFamily(f"incast_walk_{name}", help_, labels=["server"])
            for server in servers:
                counter.add_metric([server.name], server.totals.get(name, 0))
            yield counter
        for name, (label, values, help_) in LABELLED.items():
            counter = CounterMetricFamily(f"incast_walk_{name}", help_, labels=["server", label])
            for server in servers:
                for key, value in values.items():
                    counter.add_metric([server.name, value], server.totals.get(key, 0))
            yield counter
        cpu = CounterMetricFamily(f"incast_walk_{CPU[0]}", CPU[1], labels=["server"])
        for server in servers:
            cpu.add_metric([server.name], server.cpu_ps / 1e12)
        yield cpu
        for name, help_ in GAUGES.items():
            gauge = GaugeMetricFamily(f"incast_walk_{name}", help_, labels=["server"])
            for server in servers:
                of = {
                    "queue_walkers": server.queue,
                    "required_walks": server.totals.get("required", 0),
                    "nodes": server.nodes,
                }
                gauge.add_metric([server.name], of[name])
            yield gauge


class Exporter:
    """The HTTP server, while it is entered; `address` says where it is. Nothing where nobody asked for it."""

    def __init__(self, place: str | None, board: Board | None) -> None:
        self.address = ""
        self._place = place
        self._board = board
        self._server: Any = None

    def __enter__(self) -> Self:
        if self._place is None or self._board is None:
            return self
        with extra("metrics"):
            from prometheus_client import CollectorRegistry, start_http_server

        host, port = split(self._place)
        registry = CollectorRegistry()
        registry.register(Collector(self._board))
        try:
            self._server, _ = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            refuse(f"{self._place}: {error.strerror or error}", "--metrics")
        self.address = f"http://{host}:{self._server.server_port}/metrics"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()


def split(place: str) -> tuple[str, int]:
    """The host and the port of `HOST:PORT`; port 0 is one that is free."""
    host, colon, port = place.rpartition(":")
    if not colon or not host or not (port.isascii() and port.isdigit() and int(port) < 2**16):
        refuse(f"{place!r}: HOST:PORT is allowed, like 127.0.0.1:9464", "--metrics")
    return host.strip("[]"), int(port)
