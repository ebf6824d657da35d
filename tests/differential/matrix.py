"""The settings in which both simulators are compared.

Six networks, with and without loss, under each congestion control. Starts are drawn at random for
each seed, so that the means are over many interleavings: with loss, one packet more or less decides
whether a flow waits for a timeout, and a single run says little.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from dataclasses import dataclass

from testkit import cases
from testkit.cases import GIGABIT, MICROSECOND, Flow, Host, Loss, Port, Scenario
from testkit.ns3 import case_file

#: NewReno's recovery (RFC 6582) is what remains of Reno without SACK.
CONTROLS = {
    "newreno": Host(congestion="reno", sack=False),
    "reno": Host(congestion="reno"),
    "cubic": Host(congestion="cubic"),
    "dctcp": Host(congestion="dctcp"),
}
#: Compared by goodput alone, on long paths. RACK finds lost retransmissions, which ns-3 repairs in a way of its own.
LONG_CONTROLS = {
    control: Host(congestion=control, rack=True, rto_min=200 * cases.MILLISECOND)
    for control in ("htcp", "bbr")
}


@dataclass(frozen=True)
class Setting:
    """A network, a load, and what a switch port does."""

    name: str
    topology: Scenario
    flows: Callable[[random.Random], list[Flow]]
    #: Room of a port. DCTCP has at least 256 packets, and K = 65.
    packets: int
    seeds: int
    losses: tuple[Loss, ...] = ()
    mtu: int = 1500
    #: What is put right in ns-3.
    model: case_file.Model = case_file.DIFFERENTIAL
    #: Equal ways from host to host: ns-3 is told which ones our hash chooses.
    several_ways: bool = False

    def scenario(self, control: str, seed: int) -> Scenario:
        """The scenario of one run."""
        rng = random.Random(f"{self.name}/{seed}")
        port = Port(self.packets, None)
        if control == "dctcp":
            port = Port(max(self.packets, 256))
        return cases.scenario(
            f"{self.name}-{control}-{seed}",
            cases.spread(self.topology, rng),
            self.flows(rng),
            host=dataclasses.replace((CONTROLS | LONG_CONTROLS)[control], mtu=self.mtu),
            port=port,
            seed=seed,
            losses=self.losses,
        )


def across(count: int, size: int, width: int) -> Callable[[random.Random], list[Flow]]:
    """One flow a pair over the dumbbell."""

    def flows(rng: random.Random) -> list[Flow]:
        starts = cases.jitter(count, width, rng)
        return [Flow(at, f"left{i}", f"right{i}", size) for i, at in enumerate(starts)]

    return flows


def incast(count: int, size: int, width: int) -> Callable[[random.Random], list[Flow]]:
    """All to host 0."""
    return lambda rng: cases.incast(count, size, cases.jitter(count, width, rng))


def permutation(topology: Scenario, size: int, width: int) -> Callable[[random.Random], list[Flow]]:
    """Every host to another one."""
    hosts = cases.host_names(topology)

    def flows(rng: random.Random) -> list[Flow]:
        return cases.permutation(hosts, size, cases.jitter(len(hosts), width, rng), rng)

    return flows


def cycle(topology: Scenario, size: int, width: int) -> Callable[[random.Random], list[Flow]]:
    """Every host to another one, none to the one that it gets its own from."""
    hosts = cases.host_names(topology)

    def flows(rng: random.Random) -> list[Flow]:
        ring = rng.sample(hosts, len(hosts))
        starts = cases.jitter(len(hosts), width, rng)
        return [Flow(at, ring[i - 1], ring[i], size) for i, at in enumerate(starts)]

    return flows


#: 10 Gb/s and 80 µs there and back: 67 packets of 1500 bytes in flight.
DUMBBELL = cases.dumbbell(8, cases.link(delay=36 * MICROSECOND))
#: One spine, so that every path is the only one; two senders share an uplink's rate on average.
LEAF_SPINE = cases.leaf_spine(4, 4, 1, cases.link(rate=20 * GIGABIT))
#: As many spines as hosts a leaf: flows meet where the hash sends two up by one link.
FOUR_SPINES = cases.leaf_spine(4, 4, 4, cases.link())


def parking_lot(hops: int) -> Scenario:
    """Switches in a row; two hosts send from end to end, and two over each link between switches."""
    pairs = [(f"through{i}", 0, hops) for i in range(2)]
    pairs += [(f"cross{hop}-{i}", hop, hop + 1) for hop in range(hops) for i in range(2)]
    ends = [(f"{end}-{name}", f"switch{at}") for name, a, b in pairs for end, at in (("from", a), ("to", b))]
    nodes = [{"name": name, "kind": "host"} for name, _ in ends]
    nodes += [{"name": f"switch{i}", "kind": "switch"} for i in range(hops + 1)]
    short, between = cases.link(), cases.link(delay=10 * MICROSECOND)
    links = [{"a": a, "b": b, "ab": short, "ba": short} for a, b in ends]
    links += [{"a": f"switch{i}", "b": f"switch{i + 1}", "ab": between, "ba": between} for i in range(hops)]
    return {"kind": "graph", "nodes": nodes, "links": links}


def through_and_across(topology: Scenario, size: int, width: int) -> Callable[[random.Random], list[Flow]]:
    """One flow for each pair of the parking lot."""
    names = [node["name"] for node in topology["nodes"]]
    pairs = [(name, name.replace("from", "to", 1)) for name in names if name.startswith("from-")]

    def flows(rng: random.Random) -> list[Flow]:
        starts = cases.jitter(len(pairs), width, rng)
        return [Flow(at, a, b, size) for at, (a, b) in zip(starts, pairs, strict=True)]

    return flows


PARKING_LOT = parking_lot(3)


def lossy(probability: float) -> tuple[Loss, ...]:
    """From when all connections are open: a lost SYN would cost a second and hide all else."""
    return (Loss(500 * MICROSECOND, "switch0", "switch1", probability),)


SETTINGS = (
    Setting("dumbbell-ample", DUMBBELL, across(8, 1_000_000, 200 * MICROSECOND), 20_000, 5),
    Setting(
        *("dumbbell-loss-0.1%", DUMBBELL, across(8, 2_000_000, 200 * MICROSECOND), 20_000, 50),
        losses=lossy(0.001),
    ),
    Setting(
        *("dumbbell-loss-0.5%", DUMBBELL, across(8, 1_000_000, 200 * MICROSECOND), 20_000, 50),
        losses=lossy(0.005),
    ),
    Setting("dumbbell", DUMBBELL, across(8, 2_000_000, 200 * MICROSECOND), 128, 40),
    Setting("incast-4-ample", cases.single_switch(5), incast(4, 1_000_000, 50 * MICROSECOND), 20_000, 5),
    Setting("incast-4", cases.single_switch(5), incast(4, 1_000_000, 50 * MICROSECOND), 256, 20),
    Setting("incast-32-ample", cases.single_switch(33), incast(32, 64_000, 50 * MICROSECOND), 20_000, 5),
    Setting("incast-32", cases.single_switch(33), incast(32, 256_000, 50 * MICROSECOND), 256, 12),
    Setting(
        *("incast-64-jumbo", cases.single_switch(65), incast(64, 256_000, 50 * MICROSECOND), 256, 12),
        mtu=9000,
        model=case_file.PIPE,
    ),
    Setting(
        *("incast-64-short", cases.single_switch(65), incast(64, 256_000, 50 * MICROSECOND), 64, 12),
        model=case_file.PIPE,
    ),
    Setting(
        *("parking-lot", PARKING_LOT, through_and_across(PARKING_LOT, 2_000_000, 200 * MICROSECOND), 40, 20),
        model=case_file.PIPE,
    ),
    Setting(
        *("leaf-spine-ample", LEAF_SPINE, permutation(LEAF_SPINE, 500_000, 100 * MICROSECOND)), 20_000, 5
    ),
    Setting("leaf-spine", LEAF_SPINE, permutation(LEAF_SPINE, 500_000, 100 * MICROSECOND), 256, 12),
    Setting(
        *("four-spines-ample", FOUR_SPINES, cycle(FOUR_SPINES, 500_000, 100 * MICROSECOND), 20_000, 5),
        several_ways=True,
    ),
    Setting(
        *("four-spines", FOUR_SPINES, cycle(FOUR_SPINES, 500_000, 100 * MICROSECOND), 256, 40),
        several_ways=True,
    ),
)


def long_path(milliseconds: int, products: float) -> Setting:
    """Two flows over 50 Mb/s with that round trip, and room for so many products of rate and round trip."""
    link = cases.link(rate=LONG_RATE, delay=milliseconds * cases.MILLISECOND // 2)
    packets = LONG_RATE * milliseconds // 1000 // 8 // 1500
    name = f"long-{milliseconds}ms-{products:g}"
    flows = across(2, 60_000_000, 100 * cases.MILLISECOND)
    return Setting(name, cases.dumbbell(2, link), flows, int(packets * products), 1)


LONG_RATE = GIGABIT // 20
#: Of goodput, as a part of ns-3's.
LONG_TOLERANCE = 0.05
#: Some twenty seconds each.
LONG_SETTINGS = tuple(
    long_path(milliseconds, products)
    for milliseconds, products in [(10, 1), (40, 0.5), (40, 1), (40, 4), (100, 1)]
)
#: Every comparison: a setting and a congestion control.
PAIRS = [(setting, control) for setting in SETTINGS for control in CONTROLS]
LONG_PAIRS = [(setting, control) for setting in LONG_SETTINGS for control in LONG_CONTROLS]
