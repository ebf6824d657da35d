"""The cases of the benchmarks and of the differential tests, as resolved scenarios.

A case is a plain dict in the form that `crates/scenario/src/spec` defines: times in picoseconds,
sizes in bytes, rates in bits per second. It is not the form that people write (that is YAML with
units, see the manual): a benchmark must not pay for checking it, and both simulators start from the
same numbers. Every flow is listed with its start, so nothing is left to either side's randomness.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from testkit.ns3 import case_file

Scenario = dict[str, Any]

NANOSECOND = 1_000
MICROSECOND = 1_000_000
MILLISECOND = 1_000_000_000
SECOND = 1_000_000_000_000
GIGABIT = 1_000_000_000

#: A buffer that never limits a flow of these cases.
AMPLE = 64 << 20
#: A point-to-point link of ns-3 adds a PPP header of 2 bytes and has no gap between packets.
PPP_FRAMING = {"overhead": 2, "min_payload": 0}


@dataclass(frozen=True)
class Host:
    """What the cases vary at a host; the rest is the same in all of them."""

    congestion: str = "dctcp"
    mtu: int = 1500
    timestamps: bool = False
    ack_every: int = 1
    sack: bool = True
    rack: bool = False
    rto_min: int = 10 * MILLISECOND
    hystart: bool = False
    nic_queue: int = AMPLE
    ecn: bool | None = None
    initial_window: int = 10
    delayed_ack: int = MILLISECOND
    quick_acks: int = 0
    prr: bool = False
    probe_slack: int = 0
    max_ack_delay: int | None = None
    ack_train: bool = False
    htcp_rtt_scaling: bool = False
    cubic_linux_growth: bool = False
    packet_jitter: int = 0
    #: Run on Linux itself, in virtual time.
    emulated: bool = False
    #: There its segments leave in batches.
    gso: bool = False


@dataclass(frozen=True)
class Port:
    """A switch port: room in packets, and K of the step marking where it marks."""

    packets: int = 256
    threshold: int | None = 65


@dataclass(frozen=True)
class Flow:
    """One flow: starts at a time (ps) and carries so many bytes."""

    at: int
    sender: str
    receiver: str
    bytes: int


@dataclass(frozen=True)
class Loss:
    """A link that loses packets at random, both ways, from a time (ps) on."""

    at: int
    a: str
    b: str
    probability: float

    def change(self) -> dict[str, Any]:
        """In the scenario's form."""
        return {"kind": "loss", "a": self.a, "b": self.b, "probability": self.probability}


def link(rate: int = 10 * GIGABIT, delay: int = MICROSECOND) -> dict[str, int]:
    """A link that carries any packet of these cases."""
    return {"rate": rate, "delay": delay, "mtu": 9216}


def single_switch(hosts: int) -> Scenario:
    """`hosts` hosts on one switch."""
    return {"kind": "single-switch", "hosts": hosts, "host_link": link()}


def dumbbell(pairs: int, bottleneck: dict[str, int]) -> Scenario:
    """`pairs` hosts on either side of one link."""
    return {
        "kind": "dumbbell",
        "left": pairs,
        "right": pairs,
        "host_link": link(),
        "bottleneck": bottleneck,
    }


def leaf_spine(leaves: int, hosts_a_leaf: int, spines: int, uplink: dict[str, int]) -> Scenario:
    """Two tiers; host `i` is on leaf `i // hosts_a_leaf`."""
    return {
        "kind": "leaf-spine",
        "leaves": [hosts_a_leaf] * leaves,
        "spines": spines,
        "host_link": link(),
        "uplink": uplink,
        "uplinks_per_spine": 1,
    }


def fat_tree(k: int) -> Scenario:
    """Three tiers of switches with `k` ports, `k³/4` hosts."""
    return {"kind": "fat-tree", "k": k, "host_link": link(), "fabric_link": link()}


def spread(topology: Scenario, rng: random.Random) -> Scenario:
    """The same network as a graph whose host links are longer by up to a packet's time, each its own.

    Where all links are alike, packets of different hosts arrive in the same picosecond again and again, and
    the order that a simulator gives to such a tie decides whose packet is dropped.
    """
    hosts, switches, links, _ = case_file.graph(topology)
    nodes = [{"name": name, "kind": "host"} for name in hosts]
    nodes += [{"name": name, "kind": "switch"} for name in switches]
    ends = []
    for a, b, spec in links:
        longer = spec if a in switches else spec | {"delay": spec["delay"] + rng.randrange(1_200_000)}
        ends.append({"a": a, "b": b, "ab": longer, "ba": longer})
    return {"kind": "graph", "nodes": nodes, "links": ends}


def host_names(topology: Scenario) -> list[str]:
    """The hosts of a topology in its own order."""
    match topology["kind"]:
        case "single-switch":
            count = topology["hosts"]
        case "leaf-spine":
            count = sum(topology["leaves"])
        case "fat-tree":
            count = topology["k"] ** 3 // 4
        case "dumbbell":
            left = [f"left{i}" for i in range(topology["left"])]
            return left + [f"right{i}" for i in range(topology["right"])]
        case kind:
            raise ValueError(f"no case uses the topology {kind}")
    return [f"host{i}" for i in range(count)]


def scenario(
    name: str,
    topology: Scenario,
    flows: list[Flow],
    *,
    host: Host | None = None,
    port: Port | None = None,
    seed: int = 1,
    losses: tuple[Loss, ...] = (),
) -> Scenario:
    """A resolved scenario that replays `flows`."""
    host = host or Host()
    port = port or Port()
    return {
        "name": name,
        "seed": seed,
        "topology": topology,
        "framing": PPP_FRAMING,
        "switches": [{"pattern": "*", "config": switch_rule(port)}],
        "hosts": [{"pattern": "*", "config": host_rule(host)}],
        "jobs": [
            {
                "name": "flows",
                "start": 0,
                "class": 0,
                "work": {"kind": "replay", "flows": [replay(f) for f in flows]},
            }
        ],
        "faults": [{"at": loss.at, "change": loss.change()} for loss in losses],
        "measure": {"interval": None, "ports": [], "flows": False, "capture": []},
        "until": 100 * SECOND,
    }


def replay(flow: Flow) -> dict[str, Any]:
    """A flow in the scenario's form."""
    return {
        "at": flow.at,
        "from": flow.sender,
        "to": flow.receiver,
        "bytes": flow.bytes,
        "group": 0,
    }


def switch_rule(port: Port) -> dict[str, Any]:
    """A switch with one queue a port."""
    queue: dict[str, Any] = {"kind": "tail-drop"}
    if port.threshold is not None:
        queue = {"kind": "step", "threshold": {"packets": port.threshold}}
    return {
        "buffer": {"kind": "static", "limit": {"packets": port.packets}},
        "queue": queue,
        "class_queues": [],
        "scheduler": {"kind": "fifo"},
    }


def host_rule(host: Host) -> dict[str, Any]:
    """A host without limits of its own: TCP and the network decide alone."""
    return {
        "mtu": host.mtu,
        "nic_queue": host.nic_queue,
        "packet_jitter": host.packet_jitter,
        "cores": 1,
        "disk": 100 * GIGABIT,
        "tcp": {
            "congestion": host.congestion,
            "ecn": "on" if host.ecn or (host.ecn is None and host.congestion == "dctcp") else "off",
            "ecn_fallback": True,
            "sack": host.sack,
            "rack": host.rack,
            "tail_loss_probe": host.rack,
            "limited_transmit": True,
            "prr": host.prr,
            "probe_slack": host.probe_slack,
            "max_ack_delay": host.max_ack_delay,
            "fast_retransmit": 3,
            "clock_tick": 0,
            "timestamps": host.timestamps,
            "initial_window": host.initial_window,
            "hystart": host.hystart,
            "ack_train": host.ack_train,
            "quick_acks": host.quick_acks,
            "rto_initial": {"fixed": SECOND},
            "rto_min": {"fixed": host.rto_min},
            "rto_max": {"fixed": 60 * SECOND},
            "ack_every": host.ack_every,
            "delayed_ack": host.delayed_ack,
            "receive_buffer": AMPLE,
            "receive_buffer_max": AMPLE,
            "send_buffer": AMPLE,
            "dctcp_shift": 4,
            "htcp_rtt_scaling": host.htcp_rtt_scaling,
            "cubic_linux_growth": host.cubic_linux_growth,
        },
        "kernel": {
            "emulated": host.emulated,
            "memory": 64 << 20,
            "moderation": 0,
            "gso": host.gso,
            "sysctl": {},
        },
    }


def incast(senders: int, bytes_a_sender: int, starts: list[int]) -> list[Flow]:
    """Hosts 1 … `senders` answer host 0."""
    return [Flow(starts[i], f"host{i + 1}", "host0", bytes_a_sender) for i in range(senders)]


def permutation(hosts: list[str], bytes_a_host: int, starts: list[int], rng: random.Random) -> list[Flow]:
    """Every host sends to one other and receives from one other."""
    targets = hosts[:]
    while any(a == b for a, b in zip(hosts, targets, strict=True)):
        # A shuffle leaves one host in place on average: swap such hosts with their neighbour.
        rng.shuffle(targets)
        for i, name in enumerate(hosts):
            if targets[i] == name:
                j = (i + 1) % len(hosts)
                targets[i], targets[j] = targets[j], targets[i]
    return [Flow(at, a, b, bytes_a_host) for at, a, b in zip(starts, hosts, targets, strict=True)]


def jitter(count: int, width: int, rng: random.Random) -> list[int]:
    """Starts in whole nanoseconds, uniform over `width` ps."""
    return [rng.randrange(width // NANOSECOND) * NANOSECOND for _ in range(count)]


#: What a sender leaves in its NIC's queue in the benchmarks: as Linux's TSQ, not a whole window.
BENCH_HOST = Host(timestamps=True, nic_queue=64 << 10)
JUMBO_HOST = Host(timestamps=True, nic_queue=64 << 10, mtu=9000)


def bench_incast(bytes_a_sender: int, host: Host = BENCH_HOST) -> Scenario:
    """32 hosts answer one at once."""
    flows = incast(32, bytes_a_sender, [0] * 32)
    return scenario("incast-32", single_switch(33), flows, host=host)


def bench_leaf_spine(hosts: int, bytes_a_host: int) -> Scenario:
    """A permutation over a leaf–spine without oversubscription: as many spines as hosts a leaf."""
    a_leaf = 4 if hosts <= 16 else 8
    topology = leaf_spine(hosts // a_leaf, a_leaf, a_leaf, link())
    names = host_names(topology)
    flows = permutation(names, bytes_a_host, [0] * hosts, random.Random(1))
    return scenario(f"leaf-spine-{hosts}", topology, flows, host=BENCH_HOST)


def bench_fan_in(senders: int, rounds: int = 1) -> Scenario:
    """`senders` of 1000 hosts send 64 KiB each to one more, begun within 10 ms, and again after it."""
    starts = jitter(senders, 10 * MILLISECOND, random.Random(1))
    flows = [
        flow
        for number in range(rounds)
        for flow in incast(senders, 64 << 10, [at + number * 10 * SECOND for at in starts])
    ]
    return scenario("fan-in", single_switch(1001), flows, host=BENCH_HOST)


def bench_fat_tree(k: int, bytes_a_host: int) -> Scenario:
    """A permutation over a fat tree."""
    topology = fat_tree(k)
    names = host_names(topology)
    flows = permutation(names, bytes_a_host, [0] * len(names), random.Random(1))
    return scenario(f"fat-tree-{len(names)}", topology, flows, host=BENCH_HOST)
