"""`incast broadcast`, started as a person would: agents by a remote shell that enters the namespaces here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from testkit.namespaces import SWITCH

from benches.broadcast.course import SOURCE, Course, Program

PROGRAM = f"{sys.executable} -m incast"


def topology(folder: Path, rates: dict[str, int], centre: str | None) -> Path:
    """The network as `--topology` reads it: hosts around a switch, or directly connected."""
    nodes = [{"id": host, "kind": "host"} for host in rates]
    if centre:
        nodes.append({"id": centre, "kind": "switch"})
    ends = [(host, centre or SOURCE, rate) for host, rate in rates.items() if centre or host != SOURCE]
    links = [{"a": a, "b": b, "ab": rate, "ba": rate} for a, b, rate in ends]
    file = folder / "topology.json"
    file.write_text(json.dumps({"nodes": nodes, "links": links}))
    return file


def command(folder: Path, receivers: list[str], shell: str, address: str, network: Path | None) -> list[str]:
    """The whole command, to be run on the source."""
    hosts = folder / "hosts.txt"
    hosts.write_text("".join(f"{host}\n" for host in receivers))
    send = [*PROGRAM.split(), "broadcast", str(folder / "file"), "--to", str(hosts), "--source", SOURCE]
    send += ["--dest", f"{folder}/{{host}}/file", "--rsh", shell, "--incast", PROGRAM, "--address", address]
    return [*send, *(["--topology", str(network)] if network else []), "--json"]


def broadcast() -> Program:
    """The topology is given, or rates have to be found out."""

    def start(course: Course) -> None:
        known = not course.case.typed
        network = topology(course.folder, course.case.rates(), SWITCH) if known else None
        shell = " ".join(course.network.enter("{host}"))
        address = course.network.address(SOURCE)
        course.spawn(SOURCE, command(course.folder, course.receivers, shell, address, network))

    return Program("incast broadcast", start)
