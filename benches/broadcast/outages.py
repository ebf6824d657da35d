"""Outages while data flows: what they cost on real hosts in namespaces.

Each case is a broadcast to three hosts whose agents wait. When data flows, one host is cut off for a while,
once or again and again. What the broadcast takes longer than an undisturbed one is the cost. When somebody is
left without the file, that is a failure (`make search`).

    python -m benches.broadcast.outages --seconds 1,3,10,30,60
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testkit.namespaces import Network, star, unavailable

from benches.broadcast.report import OUTAGE_METRIC
from benches.broadcast.rows import keep, row

COMMAND = "python -m benches.broadcast.outages"
MBPS = 1_000_000
SOURCE = "source"
RATES = {SOURCE: 10 * MBPS, "relay": 10 * MBPS, "other": 10 * MBPS, "leaf": 5 * MBPS}
BYTES = 8_000_000
"""Some 7 s for the fast ones and 14 for the slow one."""
INCAST = [sys.executable, "-m", "incast"]
AGENT_PORT = 7411
#: After the first chunks.
BEGIN_S = 1.0
#: For which an outage may cost more than its own duration.
SLACK_S = 5.0
ROLES = (SOURCE, "relay", "leaf", "launcher")
KINDS = ("down", "carrier", "drop", "frozen")
LAUNCHER_KINDS = ("drop", "frozen")
"""Of the launcher: its way to one agent, and itself without the source."""


@dataclass(frozen=True)
class Case:
    """An outage."""

    role: str
    kind: str
    seconds: float
    times: int = 1

    def down(self) -> float:
        """How long the host is away in all, in seconds."""
        return self.seconds * self.times


@dataclass(frozen=True)
class Result:
    """What came of it."""

    case: Case
    code: int
    took: float
    states: str
    whole: bool
    restarts: int


class Run:
    """A broadcast in a network."""

    def __init__(self, network: Network, folder: Path, patience: float | None, size: int = BYTES) -> None:
        self.network, self.folder = network, folder
        self.patience = [] if patience is None else ["--patience", f"{patience:g}"]
        self.names = [host for host in network.hosts if host != SOURCE]
        self.content = os.urandom(size)
        (folder / "file").write_bytes(self.content)
        key = folder / "key"
        key.write_text(secrets.token_hex(32))
        key.chmod(0o600)
        self.agents = [self._agent(host) for host in self.names]
        lines = [f"{network.address(host)}:{AGENT_PORT} {host}\n" for host in self.names]
        (folder / "hosts.txt").write_text("".join(lines))
        nodes = [{"id": host, "kind": "host"} for host in RATES] + [{"id": "switch", "kind": "switch"}]
        # What TCP carries of a link's rate.
        links = [
            {"a": host, "b": "switch", "ab": int(rate * 0.94), "ba": int(rate * 0.94)}
            for host, rate in RATES.items()
        ]
        (folder / "net.json").write_text(json.dumps({"nodes": nodes, "links": links}))

    def _agent(self, host: str) -> subprocess.Popen[bytes]:
        (self.folder / host).mkdir()
        command = [
            *self.network.enter(host),
            *INCAST,
            "broadcast",
            "agent",
            "--listen",
            f"0.0.0.0:{AGENT_PORT}",
        ]
        command += ["--key-file", str(self.folder / "key"), "--root", str(self.folder / host)]
        child = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert child.stderr
        child.stderr.readline()
        return child

    def send(self, *more: str) -> subprocess.Popen[str]:
        """The command."""
        command = [*self.network.enter(SOURCE), *INCAST, "broadcast", str(self.folder / "file"), "--to"]
        command += [
            str(self.folder / "hosts.txt"),
            "--key-file",
            str(self.folder / "key"),
            "--source",
            SOURCE,
        ]
        command += ["--address", self.network.address(SOURCE), "--topology", str(self.folder / "net.json")]
        command += ["--chunk", "64KiB", "--json", *self.patience, *more]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
        )

    def flows(self, child: subprocess.Popen[str]) -> None:
        """Waits until all hosts have some of it."""
        while child.poll() is None and not all(map(self._has_some, self.names)):
            time.sleep(0.02)

    def _has_some(self, host: str) -> bool:
        journal = self.folder / host / ".file.incast-journal"
        return journal.exists() and journal.stat().st_size > 100

    def is_whole(self) -> bool:
        """Whether all hosts have it."""
        copies = [self.folder / host / "file" for host in self.names]
        return all(copy.exists() and copy.read_bytes() == self.content for copy in copies)

    @contextmanager
    def outage(self, case: Case, launcher: int) -> Iterator[None]:
        """For as long as the block."""
        switch = self._switch(case, launcher)
        switch(True)
        try:
            yield
        finally:
            switch(False)

    def _switch(self, case: Case, launcher: int) -> Callable[[bool], None]:
        network, host = self.network, case.role
        match case.role, case.kind:
            case "launcher", "frozen":
                return lambda on: os.kill(launcher, signal.SIGSTOP if on else signal.SIGCONT)
            case "launcher", _:
                return lambda on: network.part("relay", SOURCE, on)
            case _, "down":
                return lambda on: network.cut(host) if on else network.restore(host)
            case _, "carrier":
                return lambda on: network.carrier(host, not on)
            case _, "drop":
                return lambda on: network.drop(host, on)
        return lambda on: network.freeze(host, on)


def one(case: Case | None, patience: float | None = None) -> Result:
    """Runs a case; without one an undisturbed broadcast."""
    with tempfile.TemporaryDirectory(prefix="incast-bench-") as folder, Network(star(RATES)) as network:
        run = Run(network, Path(folder), patience)
        child = run.send()
        run.flows(child)
        # How long everything takes to start depends on what else the machine does.
        begun = time.monotonic()
        for _ in range(case.times if case else 0):
            assert case
            time.sleep(BEGIN_S if case.times == 1 else max(BEGIN_S, min(5.0, case.seconds)))
            if child.poll() is not None:
                break
            with run.outage(case, child.pid):
                time.sleep(case.seconds)
        out, err = child.communicate(timeout=600)
        took = time.monotonic() - begun
        said = json.loads(out) if out.startswith("{") else {"receivers": []}
        if case and child.returncode:
            print(case, child.returncode, out, err, file=sys.stderr)
        states = " ".join(each["state"] for each in said["receivers"])
        restarts = sum(each["restarts"] for each in said["receivers"])
        return Result(case or Case("", "", 0), child.returncode, took, states, run.is_whole(), restarts)


def cases(seconds: list[float], roles: list[str], kinds: list[str], times: int) -> list[Case]:
    """All that are asked for."""
    grid = itertools.product(roles, kinds, seconds)
    wanted = [each for each in grid if each[0] != "launcher" or each[1] in LAUNCHER_KINDS]
    return [Case(role, kind, length, times) for role, kind, length in wanted]


def main() -> None:
    """Runs what is asked for and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", default="1,3,10,30,60")
    parser.add_argument("--roles", default=",".join(ROLES))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--times", type=int, default=1, help="outages one after the other")
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--patience", type=float, help="default: that of the command")
    asked = parser.parse_args()
    if why := unavailable():
        print(f"outages are left out: {why}")
        return
    chosen = cases(
        [float(each) for each in asked.seconds.split(",")],
        asked.roles.split(","),
        asked.kinds.split(","),
        asked.times,
    )
    calm = one(None)
    print(f"undisturbed: {calm.took:.1f} s")
    failed = 0
    with ThreadPoolExecutor(asked.parallel) as pool:
        for result in pool.map(lambda case: one(case, asked.patience), chosen):
            case = result.case
            extra = result.took - calm.took
            print(
                f"{case.role:9} {case.kind:8} {case.times} x {case.seconds:g} s: exit {result.code},"
                f" {extra:+.1f} s, whole: {result.whole}, restarts {result.restarts}, {result.states}",
                flush=True,
            )
            is_good = result.code == 0 and result.whole
            failed += not is_good
            name = f"{case.role}, {case.kind}, {case.times} x {case.seconds:g} s"
            target = (case.down() + SLACK_S, is_good and extra <= case.down() + SLACK_S)
            cost = extra if is_good else None
            keep([row(name, OUTAGE_METRIC, "s", cost, None, target, COMMAND)])
    if failed:
        sys.exit(f"{failed} of {len(chosen)} failed")


if __name__ == "__main__":
    main()
