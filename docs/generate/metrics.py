"""The metrics of walks, from the code that shows them to Prometheus."""

from __future__ import annotations

from page import code, rows

from incast.walks.metrics import COUNTERS, CPU, GAUGES, LABELLED


def metrics() -> str:
    """Name, kind, labels and meaning of each."""
    body = [(f"incast_walk_{name}_total", "counter", "server", what) for name, what in COUNTERS.items()]
    for name, (label, values, what) in LABELLED.items():
        labels = f"server, {label}: {', '.join(values.values())}"
        body.append((f"incast_walk_{name}_total", "counter", labels, what))
    body.append((f"incast_walk_{CPU[0]}_total", "counter", "server", CPU[1]))
    body += [(f"incast_walk_{name}", "gauge", "server", what) for name, what in GAUGES.items()]
    return rows(("metric", "kind", "labels", "what it is"), [(code(name), *rest) for name, *rest in body])
