"""The best plans by linear programs: against all trees of small graphs, and against every other planner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product
from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incast import _core
from incast.broadcast.generate import generate
from incast.broadcast.lp import cuts
from incast.broadcast.lp.instance import Instance, Tree, fitting
from incast.broadcast.plans import ALGORITHMS, CORE, Request
from incast.broadcast.topology import Node, Topology, of_arcs

MBPS = 1_000_000
STAR = of_arcs(
    [Node("w", "switch"), *(Node(name, "host") for name in "SABC")],
    {
        way: rate * MBPS
        for name, rate in zip("SABC", (100, 100, 40, 10), strict=True)
        for way in ((name, "w"), ("w", name))
    },
)


def small(seed: int) -> Request:
    """Four or five hosts and two switches, links of any bandwidth each way."""
    random = Random(seed)
    hosts = [f"h{n}" for n in range(random.randint(3, 5))]
    switches = ["w0", "w1"]
    names = [*hosts, *switches]
    pairs = [(names[random.randrange(n)], names[n]) for n in range(1, len(names))]
    pairs += [(a, b) for a, b in (random.sample(names, 2) for _ in range(2))]
    known = {frozenset(pair): pair for pair in pairs}
    arcs = {way: random.randint(1, 9) * MBPS for a, b in known.values() for way in ((a, b), (b, a))}
    nodes = [Node(name, "host", random.choice([None, 9 * MBPS])) for name in hosts]
    topology = of_arcs([*nodes, *(Node(name, "switch") for name in switches)], arcs)
    return Request(topology, "h0", tuple(hosts[1 : random.randint(2, 4)]), seed)


def all_trees(instance: Instance) -> Iterator[Tree]:
    """Every tree over every set of members, each hop along every path without other members."""
    graph = nx.DiGraph(list(instance.arc_of))
    ways: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for a, b in product(range(instance.count), range(1, instance.count)):
        if a != b:
            others = set(instance.members) - {instance.members[a], instance.members[b]}
            found = nx.all_simple_paths(
                nx.restricted_view(graph, others, []), instance.members[a], instance.members[b]
            )
            ways[a, b] = [tuple(path) for path in found]
    for size in range(1, instance.count):
        for members in combinations(range(1, instance.count), size):
            for parents in product((0, *members), repeat=size):
                parent = dict(zip(members, parents, strict=True))
                if all(leads_to_source(parent, member) for member in members):
                    for paths in product(*(ways[parent[m], m] for m in members)):
                        yield Tree(parent, dict(zip(members, paths, strict=True)))


def leads_to_source(parent: dict[int, int], member: int) -> bool:
    for _ in parent:
        member = parent.get(member, 0)
    return member == 0


def brute_force(instance: Instance) -> tuple[float, float]:
    """The highest sum and the highest minimum over all trees."""
    from scipy.optimize import linprog  # takes a while to load

    trees = list(all_trees(instance))
    loads = np.zeros((len(instance.limits), len(trees) + 1))
    got = np.zeros((instance.count - 1, len(trees) + 1))
    for number, tree in enumerate(trees):
        for row, hops in instance.loads(tree).items():
            loads[row, number] = hops
        got[[member - 1 for member in tree.paths], number] = 1
    total = linprog(
        -got.sum(axis=0), A_ub=loads, b_ub=instance.limits, bounds=[(0, None)] * len(trees) + [(0, 0)]
    )
    below = -got
    below[:, -1] = 1
    level = np.zeros(len(trees) + 1)
    level[-1] = -1
    rows, limits = np.vstack((loads, below)), [*instance.limits, *[0] * (instance.count - 1)]
    lowest = linprog(level, A_ub=rows, b_ub=limits)
    return -float(total.fun), -float(lowest.fun)


def instance_of(request: Request) -> Instance:
    return Instance(request.topology, request.source, request.destinations)


@settings(max_examples=15)
@given(st.integers(0, 1_000_000))
def test_the_programs_equal_brute_force(seed: int) -> None:
    request = small(seed)
    total, lowest = brute_force(instance_of(request))
    found = {name: request.plan(name) for name in ("highest-aggregate", "highest-minimum", "lexicographic")}
    assert found["highest-aggregate"].aggregate == pytest.approx(total, rel=1e-5)
    assert found["highest-minimum"].minimum == pytest.approx(lowest, rel=1e-5)
    assert found["lexicographic"].minimum == pytest.approx(lowest, rel=1e-5)
    assert (found["highest-aggregate"].bound or 0) >= total * (1 - 1e-6)
    assert found["highest-minimum"].bound == pytest.approx(lowest, rel=1e-5)
    assert sum(request.alone.values()) >= total * (1 - 1e-6)


@settings(max_examples=10)
@given(st.integers(0, 1_000_000), st.sampled_from(["clusters", "tree", "mesh"]), st.booleans())
def test_no_planner_beats_them(seed: int, shape: Any, same: bool) -> None:
    topology = generate(shape, 13, "mixed", seed, same=same)
    request = Request(topology, "host0", tuple(f"host{n}" for n in range(1, 13)), seed)
    plans = {name: request.plan(name) for name in ALGORITHMS}
    best = plans["highest-aggregate"]
    for plan in plans.values():
        assert plan.aggregate <= best.aggregate * (1 + 1e-5), plan.algorithm
        assert plan.minimum <= plans["highest-minimum"].minimum * (1 + 1e-5), plan.algorithm
        assert sorted(plan.rates.values())[0] <= plans["lexicographic"].minimum * (1 + 1e-5), plan.algorithm
        assert all(rate <= request.alone[name] for name, rate in plan.rates.items())
    assert best.aggregate <= (best.bound or 0) * (1 + 1e-6)
    assert plans["balanced-multicasting"].aggregate >= plans["fpfr"].aggregate * (1 - 1e-6)


def test_the_worked_example() -> None:
    request = Request(STAR, "S", ("A", "B", "C"))
    for name in ("stable", "highest-aggregate", "lexicographic"):
        assert request.plan(name).rates == {"A": 100 * MBPS, "B": 40 * MBPS, "C": 10 * MBPS}
    assert request.plan("balanced-multicasting").rates == dict.fromkeys("ABC", 10 * MBPS)
    assert request.alone == {"A": 100 * MBPS, "B": 40 * MBPS, "C": 10 * MBPS}


def test_a_switch_that_would_have_to_copy_bounds_the_sum() -> None:
    """Two hosts that send nothing on share what the source sends: alone each would have all of it."""
    ways = {("S", "w"): 10, ("w", "A"): 10, ("w", "B"): 10}
    nodes = [Node("w", "switch"), *(Node(name, "host") for name in "SAB")]
    request = Request(of_arcs(nodes, {way: rate * MBPS for way, rate in ways.items()}), "S", ("A", "B"))
    plan = request.plan("highest-aggregate")
    assert sum(request.alone.values()) == 20 * MBPS
    assert plan.aggregate == plan.bound == 10 * MBPS
    assert request.plan("highest-minimum").rates == {"A": 5 * MBPS, "B": 5 * MBPS}


def test_a_cap_holds_for_in_and_out_together() -> None:
    nodes = [Node("S", "host"), Node("A", "host", 10 * MBPS), Node("B", "host")]
    ways = {("S", "A"): 100, ("A", "B"): 100}
    request = Request(of_arcs(nodes, {way: rate * MBPS for way, rate in ways.items()}), "S", ("A", "B"))
    assert request.alone == {"A": 10 * MBPS, "B": 5 * MBPS}
    assert request.plan("highest-minimum").rates == {"A": 5 * MBPS, "B": 5 * MBPS}


def test_lexicographic_raises_who_can_get_more() -> None:
    """C is behind a slow way; A and B share what is left, and no level is below what a plan could give all."""
    nodes = [Node("w", "switch"), *(Node(name, "host") for name in "SABC")]
    ways = {("S", "w"): 30, ("w", "A"): 30, ("w", "B"): 30, ("w", "C"): 2}
    request = Request(of_arcs(nodes, {way: rate * MBPS for way, rate in ways.items()}), "S", ("A", "B", "C"))
    rates = request.plan("lexicographic").rates
    assert rates == pytest.approx({"A": 14 * MBPS, "B": 14 * MBPS, "C": 2 * MBPS}, rel=1e-5)


@settings(max_examples=60)
@given(st.integers(0, 1_000_000), st.integers(2, 9))
def test_the_cheapest_tree_is_that_of_networkx(seed: int, size: int) -> None:
    cost = np.random.default_rng(seed).integers(0, 6, (size, size)).astype(float)
    np.fill_diagonal(cost, np.inf)
    cost[:, 0] = np.inf
    parent = _core.broadcast_arborescence(cost)
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_weighted_edges_from((a, b, cost[a, b]) for a in range(size) for b in range(1, size) if a != b)
    best = nx.minimum_spanning_arborescence(graph).size("weight")
    assert sum(cost[parent[child], child] for child in range(1, size)) == best
    assert all(leads_to_source({m: parent[m] for m in range(1, size)}, m) for m in range(1, size))


def test_rates_become_whole_numbers_that_fit() -> None:
    loads: Sequence[dict[int, int]] = [{0: 2}, {0: 1, 1: 1}]
    assert fitting([3.4, 4.0], loads, [10, 3]) == [3, 3]
    assert fitting([5.0000001, 0.0], loads, [10, 3]) == [5, 0]
    assert sum(2 * x for x in fitting([5.6, 0.0], loads, [10, 3])) <= 12


def test_paths_of_a_tree_are_links() -> None:
    instance = instance_of(small(5))
    for tree in all_trees(instance):
        assert all(step in instance.arc_of for way in tree.paths.values() for step in pairwise(way))
        assert set(tree.outwards) == set(tree.paths)


def test_every_planner_of_the_core_has_a_description() -> None:
    assert _core.broadcast_algorithms() == list(CORE)


def test_a_hundred_destinations_reach_the_bound() -> None:
    request = Request(
        generate("clusters", 101, "uniform-100", 1, same=False),
        "host0",
        tuple(f"host{n}" for n in range(1, 101)),
    )
    plan = request.plan("highest-aggregate")
    assert plan.aggregate >= 0.999 * (plan.bound or 0)
    assert cuts.highest_level(instance_of(request)) * 10**9 >= request.plan("highest-minimum").minimum * (
        1 - 1e-6
    )


@pytest.mark.parametrize("seed", range(4))
def test_with_few_destinations_among_many_hosts_too(seed: int) -> None:
    topology = generate("mesh", 60, "uniform-100", seed, same=False)
    plan = Request(topology, "host0", tuple(f"host{n}" for n in range(1, 11))).plan("highest-aggregate")
    assert plan.aggregate >= 0.999 * (plan.bound or 0) > 0


def test_a_topology_without_a_way_is_refused_by_name() -> None:
    from incast.errors import ScenarioError

    topology = Topology(STAR.nodes, tuple(link for link in STAR.links if "C" not in (link.a, link.b)))
    with pytest.raises(ScenarioError, match="--to C: no links lead there from S"):
        Request(topology, "S", ("A", "C")).check()
