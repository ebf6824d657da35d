"""Plans by name: the core's planners and the linear programs, on a topology, for a source and destinations.

A plan is data (`crates/broadcast/src/plan_data.rs`): trees with rates, hops as lists of the nodes that they
pass. Wherever it comes from, the core has checked that it can be run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from incast import _core
from incast.broadcast.topology import Topology
from incast.errors import Problem, ScenarioError
from incast.extras import extra
from incast.hints import unknown

CORE: dict[str, str] = {
    "flat": "The source sends to each destination, fairly shared",
    "random-pipeline": "One chain in random order",
    "depth-first": "One chain in the order of a depth-first search",
    "dijkstra": "One tree: again and again the host with the widest way joins (Wang 2007)",
    "fpfr": "Spanning trees side by side (Izmailov 2004)",
    "stable": "Spanning and partial trees (the document's algorithm)",
    "near": "Near the highest aggregate on any topology, fast",
}
"""The core's planners."""
PROGRAMS: dict[str, str] = {
    "balanced-multicasting": "FPFR's spanning trees with the best rates (den Burger 2005)",
    "highest-aggregate": "The highest sum of all rates",
    "highest-minimum": "The highest rate that all destinations get",
    "lexicographic": "The highest lowest rate, then the next, and so on",
}
"""The linear programs."""
_CHAINS = ("random-pipeline", "depth-first")
"""Those that need a way from each host to the next."""
ALGORITHMS = CORE | PROGRAMS
_BEGIN = [name for name in CORE if name not in _CHAINS]
"""Whose trees the programs begin with: they are at least as good as these."""


@dataclass(frozen=True)
class Plan:
    """Trees with rates."""

    data: dict[str, Any]
    """As the core reads it."""
    bound: int | None = None
    """What the algorithm maximises can't exceed this, in bit/s; nothing where it proves none."""

    @property
    def algorithm(self) -> str:
        """What it was made by."""
        return str(self.data["algorithm"])

    @property
    def trees(self) -> list[dict[str, Any]]:
        """Each with its `rate` and its `hops`."""
        return list(self.data["trees"])

    @cached_property
    def rates(self) -> dict[str, int]:
        """What each destination receives, in bit/s."""
        found = dict.fromkeys(self.data["destinations"], 0)
        for tree in self.trees:
            for hop in tree["hops"]:
                found[hop[-1]] += tree["rate"]
        return found

    @property
    def aggregate(self) -> int:
        """What all of them receive together, in bit/s."""
        return sum(self.rates.values())

    @property
    def minimum(self) -> int:
        """The lowest of their rates, in bit/s."""
        return min(self.rates.values())


@dataclass(frozen=True)
class Request:
    """What each host sends, and where to."""

    topology: Topology
    source: str
    destinations: tuple[str, ...]
    seed: int = 1
    """Of random orders."""

    @cached_property
    def alone(self) -> dict[str, int]:
        """What each destination could receive if it were the only one, in bit/s."""
        rates = _core.broadcast_bound(json.dumps(self.topology.json()), self.source, list(self.destinations))
        return dict(zip(self.destinations, rates, strict=True))

    @cached_property
    def _instance(self) -> Any:
        from incast.broadcast.lp.instance import Instance

        return Instance(self.topology, self.source, self.destinations)

    def check(self) -> None:
        """Refuses hosts that are not there, and ways that are missing."""
        if problems := self._unknown() or self._unreachable():
            raise ScenarioError(problems)

    def _unknown(self) -> list[Problem]:
        hosts = self.topology.hosts
        named = [("--source", self.source), *(("--to", name) for name in self.destinations)]
        wrong = [
            Problem(unknown("a host of the topology", name, hosts), file=f"{said} {name}")
            for said, name in named
            if name not in hosts
        ]
        if not self.destinations:
            wrong.append(
                Problem("no destination is left: at least one host besides the source is needed", file="--to")
            )
        for name in dict.fromkeys(self.destinations):
            if name == self.source:
                wrong.append(Problem("is the source: it has the data", file=f"--to {name}"))
            elif self.destinations.count(name) > 1:
                wrong.append(Problem("is there twice: each destination once", file=f"--to {name}"))
        return wrong

    def _unreachable(self) -> list[Problem]:
        reached = self.topology.reached(self.source)
        return [
            Problem(f"no links lead there from {self.source}", file=f"--to {name}")
            for name in self.destinations
            if name not in reached
        ]

    def plan(self, algorithm: str) -> Plan:
        """The plan of an algorithm, one of `ALGORITHMS`."""
        if algorithm in PROGRAMS:
            return self._program(algorithm)
        return Plan(self._core(algorithm))

    def _core(self, algorithm: str) -> dict[str, Any]:
        topology, destinations = json.dumps(self.topology.json()), list(self.destinations)
        try:
            made = _core.broadcast_plan(topology, self.source, destinations, algorithm, self.seed)
        except ValueError as error:
            raise ScenarioError([Problem(str(error), file=f"--algorithm {algorithm}")]) from None
        found: dict[str, Any] = json.loads(made)
        return found

    def _program(self, algorithm: str) -> Plan:
        with extra("plan"):
            from incast.broadcast.lp import optimum

        if len(self.destinations) > optimum.DESTINATIONS_MAX:
            said = f"{len(self.destinations)} destinations: it takes at most {optimum.DESTINATIONS_MAX}"
            raise ScenarioError([Problem(said, file=f"--algorithm {algorithm}")])
        fpfr_only = algorithm == "balanced-multicasting"
        start = [
            tree for name in (["fpfr"] if fpfr_only else _BEGIN) for tree in self._trees(self._core(name))
        ]
        alone = list(self.alone.values())
        match algorithm:
            case "balanced-multicasting":
                best = optimum.balanced(self._instance, start)
            case "highest-aggregate":
                best = optimum.highest_sum(self._instance, start, alone)
            case "highest-minimum":
                best = optimum.highest_minimum(self._instance, start)
            case _:
                best = optimum.lexicographic(self._instance, start, alone)
        plan = Plan(self._data(algorithm, best.trees), best.bound)
        _core.broadcast_check(json.dumps(self.topology.json()), json.dumps(plan.data))
        return plan

    def _trees(self, data: dict[str, Any]) -> list[Any]:
        """The core's trees as the programs have them."""
        from incast.broadcast.lp.instance import Tree

        names = self._instance.names
        number = {name: n for n, name in enumerate(names)}
        member = {name: n for n, name in enumerate((self.source, *self.destinations))}
        found = []
        for tree in data["trees"]:
            parent = {member[hop[-1]]: member[hop[0]] for hop in tree["hops"]}
            paths = {member[hop[-1]]: tuple(number[name] for name in hop) for hop in tree["hops"]}
            found.append(Tree(parent, paths))
        return found

    def _data(self, algorithm: str, trees: Sequence[tuple[Any, int]]) -> dict[str, Any]:
        names = self._instance.names
        listed: list[dict[str, Any]] = [
            {"rate": rate, "hops": [[names[node] for node in tree.paths[member]] for member in tree.outwards]}
            for tree, rate in trees
        ]
        listed.sort(key=lambda tree: (-len(tree["hops"]), -tree["rate"]))
        return {
            "algorithm": algorithm,
            "source": self.source,
            "destinations": list(self.destinations),
            "trees": listed,
        }
