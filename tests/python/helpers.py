"""Scenarios for tests, what is said about bad ones, and how to wait for other processes."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

import yaml

from incast import _core
from incast.errors import Problem, ScenarioError
from incast.variants import Variant, make_variants
from incast.written import WrittenScenario

SMALL: dict[str, Any] = {
    "name": "small",
    "topology": {"kind": "single-switch", "hosts": 4, "host_link": {"rate": "10Gbps"}},
    "jobs": [{"name": "answers", "kind": "incast", "receiver": "host0", "size": "20kB"}],
}


def written(folder: Path, content: Mapping[str, Any] | str, name: str = "scenario.yaml") -> Path:
    """The scenario as a file."""
    file = folder / name
    text = content if isinstance(content, str) else yaml.safe_dump(dict(content), sort_keys=False)
    file.write_text(text, encoding="utf-8")
    return file


def variants(folder: Path, content: Mapping[str, Any] | str, *changes: str) -> list[Variant]:
    """What would run."""
    return make_variants(WrittenScenario.from_file(written(folder, content), changes))


def spec(folder: Path, content: Mapping[str, Any] | str, *changes: str) -> dict[str, Any]:
    """What the core would get."""
    (plan,) = variants(folder, content, *changes)
    return plan.resolved.spec


def checked(given: Mapping[str, Any]) -> _core.Scenario:
    """The same, read and checked by the core."""
    return _core.check(json.dumps(given))


def refused(folder: Path, content: Mapping[str, Any] | str, *changes: str) -> list[Problem]:
    """What is said about a bad scenario."""
    try:
        variants(folder, content, *changes)
    except ScenarioError as error:
        return list(error.problems)
    raise AssertionError("the scenario was accepted")


def only(problems: list[Problem]) -> Problem:
    """The single problem."""
    assert len(problems) == 1, [str(each) for each in problems]
    return problems[0]


def warned(stderr: str) -> list[str]:
    """The lines that warn and that say why it ends. A slow machine tells how far it is, too."""
    return [line for line in stderr.splitlines() if line.startswith(("warning: ", "error: "))]


def until(what: Callable[[], object], child: Popen[Any] | None = None, limit_s: float = 240) -> None:
    """Waits until something is true; whoever is to bring that about must not end before."""
    deadline = time.monotonic() + limit_s
    while True:
        over = child is not None and child.poll() is not None
        began = time.monotonic()
        if what():
            return
        now = time.monotonic()
        assert not over, "it has ended"
        assert now < deadline, f"not within {limit_s} s"
        # Looking takes the processor from what is waited for.
        time.sleep(max(0.01, 20 * (now - began)))


def free_port() -> int:
    """One for a server that takes its time to begin: the kernel gives it to no connection meanwhile.

    It gives those of net.ipv4.ip_local_port_range, from 32768 on.
    """
    while True:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", 20_000 + secrets.randbelow(12_768)))
            return int(probe.getsockname()[1])
