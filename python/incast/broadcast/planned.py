"""A planned broadcast as a run of a study: a drawn topology, an algorithm, and what everybody would receive.

Nothing is simulated: the run folder has the plan and a summary with the figures of `incast.metrics.PLAN`. The
seed draws bandwidths, the source and the destinations, the same for all algorithms.
"""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from incast import folder
from incast._version import __version__
from incast.broadcast.generate import Bandwidth, Shape, generate
from incast.broadcast.plans import ALGORITHMS, Plan, Request
from incast.broadcast.topology import Link, Node, Topology
from incast.document import Node as Written
from incast.errors import ScenarioError
from incast.hints import unknown
from incast.lab.base import Count, Model, Name
from incast.lab.quantities import Rate
from incast.lab.validate import problems
from incast.quantity import parse_rate

FORMAT = 1
"""Grows when the same request gives other figures."""
JOINS = "joins"
"""The name of the host that joins."""


class Drawn(Model):
    """A topology that is drawn (`incast.broadcast.generate`)."""

    shape: Shape = "clusters"
    """How its nodes are connected."""
    hosts: Annotated[int, Field(ge=2, le=100_000)]
    """Number of hosts."""
    bandwidth: Bandwidth
    """From where bandwidths are drawn."""
    same: bool = True
    """Whether a link has the same bandwidth in both directions."""


class Broadcast(Model):
    """A broadcast to be planned."""

    topology: Drawn
    """On what."""
    destinations: Count
    """So many hosts, drawn from the seed, as is the source."""
    algorithm: str
    """What plans it."""
    trials: Count = 1
    """The best plan of so many random orders: for `random-pipeline`."""
    joins: Rate | None = None
    """One more host joins, on a link of this bandwidth to the switch of the last destination."""

    @field_validator("algorithm")
    @classmethod
    def _known(cls, algorithm: str) -> str:
        if algorithm not in ALGORITHMS:
            raise ValueError(unknown("an algorithm", algorithm, ALGORITHMS))
        return algorithm


class PlannedFile(Model):
    """What is planned."""

    name: Name
    """Shown in results."""
    description: str = ""
    """What it is about."""
    plan: Broadcast
    """The broadcast."""


def validate(document: Written) -> PlannedFile:
    """The request that the document describes; all problems together otherwise."""
    try:
        found = PlannedFile.model_validate(document.plain())
    except ValidationError as error:
        raise ScenarioError(problems(error, document, of=PlannedFile)) from None
    return found


def request(asked: Broadcast, seed: int) -> Request:
    """The topology and its hosts, by the seed."""
    drawn = asked.topology
    topology = generate(drawn.shape, drawn.hosts, drawn.bandwidth, seed, same=drawn.same)
    random = Random(f"members/{seed}")
    source, *destinations = random.sample(topology.hosts, min(asked.destinations + 1, drawn.hosts))
    if asked.joins:
        topology = _with_newcomer(topology, destinations[-1], parse_rate(asked.joins))
        destinations.append(JOINS)
    return Request(topology, source, tuple(destinations), seed)


def _with_newcomer(topology: Topology, beside: str, rate: int) -> Topology:
    switch = next(
        end
        for link in topology.links
        if beside in (link.a, link.b)
        for end in (link.a, link.b)
        if end != beside
    )
    return Topology(
        (*topology.nodes, Node(JOINS, "host")), (*topology.links, Link(switch, JOINS, rate, rate))
    )


def write(file: PlannedFile, seed: int, place: Path, text: str) -> float:
    """Plans, writes the run folder, and returns the seconds that planning took."""
    asked = request(file.plan, seed)
    began = time.monotonic()
    plan = best(asked, file.plan.algorithm, file.plan.trials)
    took = round(time.monotonic() - began, 3)
    folder.make_free(place, force=True)
    folder.prepare(place)
    summary = {
        "version": __version__,
        "name": file.name,
        "seed": seed,
        "end": "finished",
        "packet_hops": 0,
        "wall_s": took,
        "plan": figures(asked, plan),
    }
    folder.write_text(place / folder.WRITTEN, text)
    folder.write_json(place / folder.PLAN, {"topology": asked.topology.json(), **plan.data})
    folder.write_json(place / folder.SUMMARY, summary)
    return took


def best(asked: Request, algorithm: str, trials: int) -> Plan:
    """The plan with the highest aggregate of so many seeds."""
    seeds = range(asked.seed * trials, (asked.seed + 1) * trials)
    requests = [Request(asked.topology, asked.source, asked.destinations, seed) for seed in seeds]
    return max((each.plan(algorithm) for each in requests), key=lambda plan: plan.aggregate)


def figures(asked: Request, plan: Plan) -> dict[str, Any]:
    """What the plan gives, next to others on the same topology."""
    alone = sum(asked.alone.values())
    others = {name: asked.plan(name).aggregate for name in ("flat", "fpfr", "stable")}
    return {
        "aggregate_bps": plan.aggregate,
        "stayed_bps": plan.aggregate - plan.rates.get(JOINS, 0),
        "minimum_bps": plan.minimum,
        "alone_bps": alone,
        "of_bound": plan.aggregate / alone,
        "over_flat": plan.aggregate / others["flat"],
        "stable_over": others["stable"] / plan.aggregate,
        "short_of_fpfr": max(0.0, 1 - plan.aggregate / others["fpfr"]),
        "short_of_stable": max(0.0, 1 - plan.aggregate / others["stable"]),
        "proved_bps": plan.bound,
        "trees": len(plan.trees),
    }
