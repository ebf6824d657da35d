"""The settings in which our TCP is compared with Linux's own, on the same switches.

A host has Linux's defaults on both sides, except where a setting is about them.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import matrix
from testkit import cases
from testkit.cases import GIGABIT, MICROSECOND, MILLISECOND, Flow, Host, Loss, Port, Scenario

LINUX = Host(
    timestamps=True,
    ack_every=2,
    rack=True,
    rto_min=200 * MILLISECOND,
    hystart=True,
    ack_train=True,
    quick_acks=16,
    prr=True,
    probe_slack=2 * MILLISECOND,
    nic_queue=64_000,
    delayed_ack=40 * MILLISECOND,
    htcp_rtt_scaling=True,
    cubic_linux_growth=True,
    # What Linux's hosts differ by: see docs/validation/linux.md, "Phase effects".
    packet_jitter=MICROSECOND,
)
CONTROLS = ("reno", "cubic", "dctcp", "htcp", "bbr")


@dataclass(frozen=True)
class Setting:
    """A network, a load, and what a switch port and a host do."""

    name: str
    topology: Scenario
    flows: Callable[[random.Random], list[Flow]]
    packets: int
    seeds: int
    controls: tuple[str, ...] = CONTROLS
    losses: tuple[Loss, ...] = ()
    host: dict[str, Any] = field(default_factory=dict)
    #: Ports mark from so many packets on, under every control.
    threshold: int | None = None

    def scenario(self, control: str, seed: int, *, emulated: bool) -> Scenario:
        """The scenario of one run."""
        rng = random.Random(f"{self.name}/{seed}")
        threshold = 65 if control == "dctcp" else self.threshold
        packets = max(self.packets, 256) if threshold else self.packets
        # Linux has HyStart in CUBIC alone.
        own = {"hystart": control == "cubic", **self.host}
        host = dataclasses.replace(LINUX, congestion=control, emulated=emulated, **own)
        host = dataclasses.replace(host, max_ack_delay=host.rto_min)
        return cases.scenario(
            f"{self.name}-{control}-{seed}",
            cases.spread(self.topology, rng),
            self.flows(rng),
            host=host,
            port=Port(packets, threshold),
            seed=seed,
            losses=self.losses,
        )


def near_and_far(rng: random.Random) -> list[Flow]:
    """One flow with a round trip of 80 µs and one with 320 µs."""
    starts = cases.jitter(2, 200 * MICROSECOND, rng)
    return [
        Flow(at, f"{name}-from", f"{name}-to", 8_000_000)
        for at, name in zip(starts, ("near", "far"), strict=True)
    ]


def unequal() -> Scenario:
    """Two pairs over one link of 10 Gb/s; the far one's links are longer."""
    hosts = [f"{pair}-{end}" for pair in ("near", "far") for end in ("from", "to")]
    nodes = [{"name": name, "kind": "host"} for name in hosts]
    nodes += [{"name": name, "kind": "switch"} for name in ("switch0", "switch1")]
    links = []
    for name in hosts:
        link = cases.link(delay=(2 if name.startswith("near") else 62) * MICROSECOND)
        links.append(
            {"a": name, "b": "switch0" if name.endswith("from") else "switch1", "ab": link, "ba": link}
        )
    middle = cases.link(delay=36 * MICROSECOND)
    return {
        "kind": "graph",
        "nodes": nodes,
        "links": [*links, {"a": "switch0", "b": "switch1", "ab": middle, "ba": middle}],
    }


def small(_: random.Random) -> list[Flow]:
    """Flows of four segments, one after the other: with a window of one, delayed acknowledgements count."""
    return [Flow(at * 150 * MILLISECOND, "left0", "right0", 5_000) for at in range(8)]


ONE = cases.dumbbell(1, cases.link(rate=5 * GIGABIT, delay=36 * MICROSECOND))
LOSSY = (Loss(500 * MICROSECOND, "switch0", "switch1", 0.01),)
RTO_MINS = (5, 50, 200)
INCAST_16 = (cases.single_switch(17), matrix.incast(16, 256_000, 50 * MICROSECOND))

SETTINGS = (
    Setting("one-flow", ONE, matrix.across(1, 10_000_000, MICROSECOND), 20_000, 2),
    Setting("one-flow-64", ONE, matrix.across(1, 10_000_000, MICROSECOND), 64, 4),
    Setting(
        "one-flow-64-no-hystart",
        ONE,
        matrix.across(1, 10_000_000, MICROSECOND),
        64,
        4,
        ("cubic",),
        host={"hystart": False},
    ),
    Setting("incast-2", cases.single_switch(3), matrix.incast(2, 2_000_000, 50 * MICROSECOND), 128, 8),
    Setting("incast-16", *INCAST_16, 256, 10),
    Setting("incast-16-ecn", *INCAST_16, 256, 10, ("reno", "cubic"), host={"ecn": True}, threshold=65),
    Setting("incast-16-no-rack", *INCAST_16, 256, 10, ("reno", "cubic"), host={"rack": False}),
    *(
        Setting(
            f"incast-16-rto-{ms}ms", *INCAST_16, 48, 10, ("reno", "cubic"), host={"rto_min": ms * MILLISECOND}
        )
        for ms in RTO_MINS
    ),
    Setting("incast-64", cases.single_switch(65), matrix.incast(64, 64_000, 50 * MICROSECOND), 256, 5),
    Setting("incast-64-short", cases.single_switch(65), matrix.incast(64, 64_000, 50 * MICROSECOND), 64, 5),
    Setting(
        "parking-lot",
        matrix.PARKING_LOT,
        matrix.through_and_across(matrix.PARKING_LOT, 2_000_000, 200 * MICROSECOND),
        40,
        6,
    ),
    Setting("rtt-1-4", unequal(), near_and_far, 128, 6),
    Setting(
        "loss-1%", matrix.DUMBBELL, matrix.across(8, 500_000, 200 * MICROSECOND), 20_000, 8, losses=LOSSY
    ),
    Setting(
        "window-of-1",
        cases.dumbbell(1, cases.link()),
        small,
        256,
        1,
        ("reno", "cubic"),
        host={"initial_window": 1},
    ),
)
PAIRS = [(setting, control) for setting in SETTINGS for control in setting.controls]
