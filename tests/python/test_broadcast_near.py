"""The planner `near` against the highest aggregate, which a linear program finds, on small graphs of any shape.

Over the first 3000 such graphs its mean and its worst are 1.000000 and 0.999999 of it; the document's algorithm has 0.962
and 0.644.
"""

from __future__ import annotations

from random import Random

from incast.broadcast.plans import Request
from incast.broadcast.topology import Node, of_arcs

GRAPHS = 200
MBPS = 1_000_000


def graph(seed: int) -> Request:
    """Four to eight hosts, some switches, more links than a tree has, any bandwidth; half of them differ by direction."""
    random = Random(seed)
    hosts = [f"h{n}" for n in range(random.randint(4, 8))]
    switches = [f"w{n}" for n in range(random.randint(0, 3))]
    names = [*hosts, *switches]
    pairs = [(names[random.randrange(n)], names[n]) for n in range(1, len(names))]
    pairs += [(a, b) for a, b in (random.sample(names, 2) for _ in range(random.randint(1, len(names))))]
    same = random.random() < 0.5
    arcs = {}
    for a, b in {frozenset(pair): pair for pair in pairs}.values():
        arcs[a, b] = random.randint(1, 9) * MBPS
        arcs[b, a] = arcs[a, b] if same else random.randint(1, 9) * MBPS
    nodes = [*(Node(host, "host") for host in hosts), *(Node(switch, "switch") for switch in switches)]
    return Request(of_arcs(nodes, arcs), "h0", tuple(hosts[1 : random.randint(3, len(hosts))]), seed)


def part(seed: int) -> float:
    """The plan's aggregate as a part of the highest."""
    request = graph(seed)
    return request.plan("near").aggregate / request.plan("highest-aggregate").aggregate


def test_it_is_the_optimum_or_close_to_it() -> None:
    parts = [part(seed) for seed in range(GRAPHS)]
    assert max(parts) <= 1 + 1e-6
    # Wanted: within 2 % on average, 10 % at worst.
    assert sum(parts) / GRAPHS > 0.999
    assert min(parts) > 0.98
