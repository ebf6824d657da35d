"""Writes a case as the driver reads it: one line a fact, first the word that says what it is.

    set KEY VALUE                    a setting; times in ps, sizes in bytes, flags 0 or 1
    nodes HOSTS SWITCHES             hosts are nodes 0 … HOSTS-1, switches follow
    link A B RATE DELAY              both ways, bits per second and ps
    loss START A B PROBABILITY       packets on the link vanish at random, both ways
    flow START BYTES NODE NODE …     the nodes of its path, both hosts included
    back NODE NODE …                 those of the last flow's acknowledgements, where it is not the same path

The settings are those of the scenario. Three of ns-3's own are added: `recovery` (rfc6675 is
ns-3's TcpClassicRecovery, prr its TcpPrrRecovery), `clock`, the granularity that RFC 6298 calls G, and
`congestion` with `-rfc` behind the name, where the driver puts right what ns-3's reduction of the window
does otherwise than the RFC, or `-rfc-pipe`, for the pipe and the marks of segments too (see there).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Scenario = dict[str, Any]
#: By pair of hosts: the nodes that its data crosses, and those that its acknowledgements cross.
Ways = dict[tuple[str, str], tuple[list[str], list[str]]]

IPV4_AND_TCP = 40
TIMESTAMPS = 12
MILLISECOND = 1_000_000_000


@dataclass(frozen=True)
class Model:
    """What ns-3 lets one choose and the scenario doesn't."""

    recovery: str = "rfc6675"
    reductions: str = "-rfc"
    count_segments: bool = True


#: ns-3 set to the same rules as ours.
DIFFERENTIAL = Model()
#: The pipe of RFC 6675 and every mark heard, besides.
PIPE = Model(reductions="-rfc-pipe")
#: ns-3 as it comes, for measuring its cost.
STOCK = Model(recovery="prr", reductions="", count_segments=False)


def write(scenario: Scenario, model: Model = DIFFERENTIAL, ways: Ways | None = None) -> str:
    """The text of a case file; `ways` says which paths are taken where there are several."""
    hosts, switches, links, path = graph(scenario["topology"])
    number = {name: i for i, name in enumerate(hosts + switches)}
    lines = [f"set {key} {value}" for key, value in settings(scenario, model).items()]
    lines.append(f"nodes {len(hosts)} {len(switches)}")
    for a, b, spec in links:
        lines.append(f"link {number[a]} {number[b]} {spec['rate']} {spec['delay']}")
    lines += [loss(fault, number) for fault in scenario["faults"]]
    (job,) = scenario["jobs"]
    for flow in job["work"]["flows"]:
        a, b = flow["from"], flow["to"]
        if ways and (b, a) in ways:
            raise ValueError(f"flows from {a} to {b} and back: the driver has one way for each pair of hosts")
        to, *back = ways[a, b] if ways else [path(a, b)]
        nodes = " ".join(str(number[name]) for name in to)
        lines.append(f"flow {job['start'] + flow['at']} {flow['bytes']} {nodes}")
        lines += ["back " + " ".join(str(number[name]) for name in names) for names in back]
    return "\n".join(lines) + "\n"


def loss(fault: dict[str, Any], number: dict[str, int]) -> str:
    """The only fault that a case may have."""
    change = fault["change"]
    if change["kind"] != "loss":
        raise ValueError(f"ns-3 runs no {change['kind']} here")
    return f"loss {fault['at']} {number[change['a']]} {number[change['b']]} {change['probability']}"


def settings(scenario: Scenario, model: Model) -> dict[str, Any]:
    """TCP's and the queue's settings; one rule for all hosts and one for all switches."""
    (host_rule,) = scenario["hosts"]
    (switch_rule,) = scenario["switches"]
    host, switch = host_rule["config"], switch_rule["config"]
    tcp, queue = host["tcp"], switch["queue"]
    # Both mark a packet that finds more than K waiting; the driver counts from K + 1 on.
    mark = queue["threshold"]["packets"] + 1 if queue["kind"] == "step" else 0
    return {
        "congestion": tcp["congestion"] + model.reductions,
        "recovery": model.recovery,
        "count_segments": int(model.count_segments),
        "ecn": int(tcp["ecn"] == "on"),
        "segment": host["mtu"] - IPV4_AND_TCP - TIMESTAMPS * tcp["timestamps"],
        "initial_window": tcp["initial_window"],
        "ack_every": tcp["ack_every"],
        "delayed_ack": tcp["delayed_ack"],
        "rto_initial": tcp["rto_initial"]["fixed"],
        "rto_min": tcp["rto_min"]["fixed"],
        "clock": MILLISECOND,
        "sack": int(tcp["sack"]),
        "timestamps": int(tcp["timestamps"]),
        "limited_transmit": int(tcp["limited_transmit"]),
        "hystart": int(tcp["hystart"]),
        "socket_buffer": tcp["receive_buffer"],
        "queue": switch["buffer"]["limit"]["packets"],
        "mark": mark,
        "until": scenario["until"],
        "seed": scenario["seed"] + 1,  # ns-3 has no run 0
    }


def graph(topology: Scenario) -> tuple[list[str], list[str], list[Any], Any]:
    """Hosts, switches, links, and the function that gives the path of a pair of hosts."""
    match topology["kind"]:
        case "single-switch":
            return single_switch(topology)
        case "dumbbell":
            return dumbbell(topology)
        case "leaf-spine":
            return leaf_spine(topology)
        case "graph":
            return any_graph(topology)
        case kind:
            raise ValueError(f"ns-3 runs no {kind} here")


def any_graph(topology: Scenario) -> tuple[list[str], list[str], list[Any], Any]:
    """Links alike both ways; the shortest path: the only one of its length, or `write` is told the ways."""
    hosts = [node["name"] for node in topology["nodes"] if node["kind"] == "host"]
    switches = [node["name"] for node in topology["nodes"] if node["kind"] == "switch"]
    links = [(link["a"], link["b"], link["ab"]) for link in topology["links"]]
    peers: dict[str, list[str]] = {name: [] for name in hosts + switches}
    for a, b, _ in links:
        peers[a].append(b)
        peers[b].append(a)

    def path(a: str, b: str) -> list[str]:
        found = {a: [a]}
        for node in (queue := [a]):
            for peer in peers[node]:
                if peer not in found:
                    found[peer] = [*found[node], peer]
                    queue.append(peer)
        return found[b]

    return hosts, switches, links, path


def single_switch(topology: Scenario) -> tuple[list[str], list[str], list[Any], Any]:
    """Every host on one switch."""
    hosts = [f"host{i}" for i in range(topology["hosts"])]
    links = [(name, "switch0", topology["host_link"]) for name in hosts]
    return hosts, ["switch0"], links, lambda a, b: [a, "switch0", b]


def dumbbell(topology: Scenario) -> tuple[list[str], list[str], list[Any], Any]:
    """Hosts on either side of a link."""
    left = [f"left{i}" for i in range(topology["left"])]
    right = [f"right{i}" for i in range(topology["right"])]
    links = [(name, "switch0", topology["host_link"]) for name in left]
    links += [(name, "switch1", topology["host_link"]) for name in right]
    links.append(("switch0", "switch1", topology["bottleneck"]))
    side = dict.fromkeys(left, "switch0") | dict.fromkeys(right, "switch1")

    def path(a: str, b: str) -> list[str]:
        return [a, side[a], b] if side[a] == side[b] else [a, side[a], side[b], b]

    return left + right, ["switch0", "switch1"], links, path


def leaf_spine(topology: Scenario) -> tuple[list[str], list[str], list[Any], Any]:
    """A flow takes the spine of its sender's place on the leaf, so no two senders of a leaf share one."""
    leaf: dict[str, str] = {}
    place: dict[str, int] = {}
    for number, count in enumerate(topology["leaves"]):
        for index in range(count):
            name = f"host{len(leaf)}"
            leaf[name], place[name] = f"leaf{number}", index
    leaves = [f"leaf{i}" for i in range(len(topology["leaves"]))]
    spines = [f"spine{i}" for i in range(topology["spines"])]
    links = [(name, leaf[name], topology["host_link"]) for name in leaf]
    links += [(a, b, topology["uplink"]) for a in leaves for b in spines]

    def path(a: str, b: str) -> list[str]:
        if leaf[a] == leaf[b]:
            return [a, leaf[a], b]
        return [a, leaf[a], spines[place[a] % len(spines)], leaf[b], b]

    return list(leaf), leaves + spines, links, path
