"""A scenario in the core's terms: base units, every name known, every file read.

The form is that of crates/scenario/src/lab and kinds. All that is wrong is found before anything runs, and
said together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from incast import _core
from incast.document import Loc, Node
from incast.emu import kernel
from incast.kinds.job import Site
from incast.lab.cluster import Cluster, check, expand, too_large
from incast.lab.faults import fault_specs
from incast.lab.findings import Findings
from incast.lab.overrides import rules
from incast.lab.scenario import Scenario
from incast.lab.select import matches, select
from incast.lab.topology import FileTopology, Graph, Link, Topology
from incast.quantity import format_bytes, parse_bytes, parse_time
from incast.thresholds import Threshold, parse_threshold


@dataclass(frozen=True)
class Resolved:
    """What a run needs."""

    spec: dict[str, Any]
    """The scenario as the core reads it."""
    core: _core.Scenario
    """The same, read and checked by the core."""
    cluster: Cluster
    """Its nodes and links."""
    thresholds: tuple[Threshold, ...]
    """What has to hold afterwards."""
    here: tuple[dict[str, Any], ...] = ()
    """Settings of its hosts whose kernel is this machine's."""


def resolve(scenario: Scenario, document: Node, folder: Path) -> Resolved:
    """The scenario in the core's terms; `folder` is where its files are."""
    findings = Findings(document)
    thresholds = _thresholds(scenario, findings)
    topology, cluster = _topology(scenario, folder, findings)
    spec = {
        "name": scenario.name,
        "seed": scenario.seed,
        "topology": topology,
        "framing": scenario.framing.base_units(),
        "switches": rules(scenario.switch, "switch", scenario.switch_overrides, cluster.switches, findings),
        "hosts": rules(scenario.host, "host", scenario.host_overrides, cluster.hosts, findings),
        "jobs": [
            job.spec(Site(cluster, scenario.seed, folder, findings, ("jobs", index)))
            for index, job in enumerate(scenario.jobs)
        ],
        "faults": [
            change
            for index, fault in enumerate(scenario.faults)
            for change in fault_specs(fault, ("faults", index), cluster, findings)
        ],
        "measure": scenario.measure.base_units(),
        "until": parse_time(scenario.until) if scenario.until else None,
        **({"clock": scenario.clock.base_units()} if scenario.clock else {}),
        **({"fidelity": scenario.fidelity} if scenario.fidelity != "exact" else {}),
    }
    scenario.measure.check(cluster, findings)
    _check_end(scenario, spec, findings)
    _check_kernel(scenario, spec, findings)
    _check_mtu(scenario, spec, cluster, findings)
    findings.stop_if_any()
    written = Written(spec, scenario, cluster, findings)
    here = _here(written) if scenario.clock else ()
    findings.stop_if_any()
    return Resolved(spec, written.ask(lambda: _core.check(json.dumps(spec))), cluster, thresholds, here)


def _topology(scenario: Scenario, folder: Path, findings: Findings) -> tuple[dict[str, Any], Cluster]:
    """The topology; without a good one nothing else can be looked at."""
    own = Findings(findings.document)
    topology = _topology_spec(scenario.topology, folder, own)
    cluster = Cluster({}, [], "")
    if why := "" if own.problems else too_large(topology):
        own.add(("topology",), why)
    if not own.problems:
        try:
            cluster = expand(topology)
            check(cluster, own)
        except _core.SpecError as problem:
            own.add(("topology",), problem.args[1])
    findings.extend(own.problems)
    if own.problems:
        findings.stop_if_any()
    return topology, cluster


def _thresholds(scenario: Scenario, findings: Findings) -> tuple[Threshold, ...]:
    found = []
    for index, text in enumerate(scenario.thresholds):
        try:
            found.append(parse_threshold(text, [job.name for job in scenario.jobs]))
        except ValueError as error:
            findings.add(("thresholds", index), str(error))
    return tuple(found)


def _emulated(spec: Mapping[str, Any]) -> bool:
    """Whether jobs run on emulated hosts."""
    return any(rule["config"]["kernel"]["emulated"] for rule in spec["hosts"])


def _check_kernel(scenario: Scenario, spec: Mapping[str, Any], findings: Findings) -> None:
    if scenario.clock:
        return  # The kernel is this machine's.
    programs = [index for index, job in enumerate(scenario.jobs) if job.traits.linux]
    if programs and (lacking := kernel.lacking()):
        findings.add(("jobs", programs[0], "kind"), lacking)
    overrides = [
        ("host_overrides", index)
        for index, override in enumerate(scenario.host_overrides)
        if "kernel" in override.changes()
    ]
    if _emulated(spec) and (lacking := kernel.lacking()):
        place = ("host",) if scenario.host.kernel.emulated or not overrides else overrides[-1]
        findings.add((*place, "kernel", "emulated"), lacking)


def _here(written: Written) -> tuple[dict[str, Any], ...]:
    """With a real clock the hosts of programs have this machine's kernel: their settings, each once."""
    rules = list(enumerate(written.spec["hosts"]))
    jobs = zip(written.scenario.jobs, written.spec["jobs"], strict=True)
    hosts = [host for job, spec in jobs if job.traits.linux for host in spec["work"]["hosts"]]
    used = {next(n for n, rule in reversed(rules) if matches(rule["pattern"], host)) for host in hosts}
    configs = {rule: rules[rule][1]["config"] for rule in sorted(used)}
    for rule, config in configs.items():
        if lacking := kernel.not_allowed(config["tcp"]["congestion"]):
            written.refuse(("hosts", rule, "config", "tcp", "congestion"), lacking)
    return tuple(configs.values())


def _check_end(scenario: Scenario, spec: Mapping[str, Any], findings: Findings) -> None:
    if scenario.until is None:
        if not any(job.traits.awaited for job in scenario.jobs):
            findings.add(("until",), "is required: no run waits for background jobs, and there are no others")
        elif _emulated(spec):
            findings.add(("until",), "is required: emulated hosts are never idle")
        elif endless := [job.name for job in scenario.jobs if job.traits.endless]:
            findings.add(("until",), f"is required: {endless[0]} may never end")
        return
    for index, job in enumerate(scenario.jobs):
        if parse_time(job.start) >= parse_time(scenario.until):
            findings.add(
                ("jobs", index, "start"), f"{job.start} is not before the run's end ({scenario.until})"
            )


def _check_mtu(scenario: Scenario, spec: dict[str, Any], cluster: Cluster, findings: Findings) -> None:
    if not cluster.links:
        return
    links = min(way["mtu"] for link in cluster.links for way in (link["ab"], link["ba"]))
    if parse_bytes(scenario.host.mtu) > links:
        least = format_bytes(links)
        message = f"{scenario.host.mtu} is above the MTU of a link ({least}): packets would be discarded"
        findings.add(("host", "mtu"), message)
    for index, override in enumerate(scenario.host_overrides):
        mtu = override.changes().get("mtu")
        if isinstance(mtu, str) and any(rule["config"]["mtu"] > links for rule in spec["hosts"][1:]):
            findings.add(
                ("host_overrides", index, "mtu"), f"{mtu} is above the MTU of a link ({format_bytes(links)})"
            )


T = TypeVar("T")


@dataclass(frozen=True)
class Written:
    """A scenario in the core's terms and as people wrote it."""

    spec: Mapping[str, Any]
    scenario: Scenario
    cluster: Cluster
    findings: Findings

    def ask(self, question: Callable[[], T]) -> T:
        """The core's answer; what it refuses is said where the field is, as near as names allow."""
        try:
            return question()
        except _core.SpecError as problem:
            self.refuse(*problem.args)
            self.findings.stop_if_any()
            raise

    def refuse(self, loc: Loc, message: str) -> None:
        """Notes what is wrong with a field of the core's."""
        self.findings.add(self._place(loc), message)

    def _place(self, loc: Loc) -> Loc:
        """Where people write it: a rule at `switch`, `host` or an override, a job's work at the job."""
        match loc:
            case ("jobs", int(number), "work", *field):
                return ("jobs", number, *field)
            case ("switches" | "hosts" as section, int(number), "config", *field):
                pattern = self.spec[section][number]["pattern"]
            case _:
                return loc
        whole, overrides, names = (
            ("switch", self.scenario.switch_overrides, self.cluster.switches)
            if section == "switches"
            else ("host", self.scenario.host_overrides, self.cluster.hosts)
        )
        for index, override in reversed(list(enumerate(overrides))):
            # A rule is of an override's pattern, or of a single name.
            meant = override.match == pattern or pattern in select(override.match, names, f"a {whole}")
            if meant and field and field[0] in override.changes():
                return (f"{whole}_overrides", index, *field)
        return (whole, *field)


def _topology_spec(topology: Topology, folder: Path, findings: Findings) -> dict[str, Any]:
    """The topology in base units; files are read."""
    match topology:
        case Graph():
            return _graph(topology, findings)
        case FileTopology():
            from incast.lab.graphfile import read_graph  # Few scenarios need its libraries.

            return read_graph(topology, folder, findings)
        case _:
            return topology.base_units()


def _graph(topology: Graph, findings: Findings) -> dict[str, Any]:
    links = []
    for index, link in enumerate(topology.links):
        a, b = link.ends
        for end in link.ends:
            if end not in topology.nodes:
                findings.add(("topology", "links", index, "ends"), f"{end!r} is not one of the nodes")
        if a == b:
            findings.add(("topology", "links", index, "ends"), f"the link from {a} to itself is not allowed")
        there = {name: value for name, value in link.base_units().items() if name in Link.model_fields}
        back = {name: value for name, value in link.back.base_units().items() if value is not None}
        links.append({"a": a, "b": b, "ab": there, "ba": {**there, **back}})
    nodes = [{"name": name, "kind": kind} for name, kind in topology.nodes.items()]
    return {"kind": "graph", "nodes": nodes, "links": links}
