"""What a deep buffer does to streams that nothing stops: they fill it with all that they may have on the way."""

from __future__ import annotations

from pathlib import Path

import incast
from helpers import written

SENDERS, WINDOW = 2, 4 << 20
SCENARIO = {
    "name": "bloat",
    "topology": {
        "kind": "single-switch",
        "hosts": 1 + SENDERS,
        "host_link": {"rate": "25Gbps", "mtu": "9216B"},
    },
    "switch": {"buffer": {"kind": "voq", "size": "8GB", "cap": "125MB"}},
    "host": {"mtu": "9000B", "tcp": {"congestion": "htcp", "send_buffer": f"{WINDOW}B"}},
    "jobs": [
        {
            "name": "streams",
            "kind": "background",
            "over": "tcp",
            "rate": "25Gbps",
            "pairs": [["host1", "host0"], ["host2", "host0"]],
        }
    ],
    "until": "200ms",
}


def test_the_receive_window_follows_a_queue_that_was_not_there_at_the_handshake(tmp_path: Path) -> None:
    ports = incast.run(written(tmp_path, SCENARIO), tmp_path / "out").ports
    (queue,) = ports.filter(ports["port"] == "switch0:host0")["queue_max_bytes"]
    assert 0.75 * SENDERS * WINDOW < queue < 1.05 * SENDERS * WINDOW
