"""What becomes of a difference from Linux when its cause is taken away, and how much of it chance can be.

    python tests/differential/linux_causes.py

Prints the tables of docs/validation/linux.md under "Named causes, made equal" and "Chance in times". Only our
TCP runs, for two minutes; Linux's figures are those that linux.json keeps.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import linux
import linux_matrix
import linux_windows
from testkit import ours
from testkit.cases import MILLISECOND, SECOND, Scenario

#: How many other sets of seeds a setting is repeated with.
SETS = 20
#: What a flow may put into its own host's queue on Linux (`tcp_limit_output_bytes`).
OWN_QUEUE = 1 << 20
#: When Linux's hosts send a SYN again that was lost at their start: their timers of a second end together.
SYN_AGAIN = SECOND + 16 * MILLISECOND

Figures = tuple[tuple[str, str], ...]


def unchanged(_: Scenario) -> None:
    """Leaves the hosts as they are in the table of times."""


def syns_together(scenario: Scenario) -> None:
    """Lets all hosts send a lost SYN again at the same moment."""
    starts = {flow["from"]: flow["at"] for flow in scenario["jobs"][0]["work"]["flows"]}
    for rule in of_senders(scenario):
        rule["config"]["tcp"]["rto_initial"] = {"fixed": SYN_AGAIN - starts[rule["pattern"]]}


def equal_hosts(scenario: Scenario) -> None:
    """Gives hosts Linux's share of their own queue, its acknowledgements at once and its pace."""
    host = scenario["hosts"][0]["config"]
    host["nic_queue"] = OWN_QUEUE
    host["tcp"]["quick_acks"] = linux_windows.QUICK_ACKS
    linux_windows.pace(scenario["topology"])


def quick_hosts(scenario: Scenario) -> None:
    """Acknowledges as many segments at once as Linux does."""
    scenario["hosts"][0]["config"]["tcp"]["quick_acks"] = linux_windows.QUICK_ACKS


def of_senders(scenario: Scenario) -> list[Scenario]:
    """A rule for each host that sends, after that of all hosts."""
    senders = sorted({flow["from"] for flow in scenario["jobs"][0]["work"]["flows"]})
    every = scenario["hosts"][0]["config"]
    rules = [{"pattern": name, "config": copy.deepcopy(every)} for name in senders]
    scenario["hosts"] += rules
    return rules


@dataclass(frozen=True)
class Cause:
    """A difference of the hosts, and the figures that come within the tolerance without it."""

    name: str
    change: Callable[[Scenario], None]
    settles: Figures


def times(setting: str, controls: str, names: str) -> Figures:
    """Several figures of several controls of a setting."""
    return tuple(
        (f"{setting}/{control}", f"fct_{name}_us") for control in controls.split() for name in names.split()
    )


CAUSES = (
    Cause("lost SYNs", syns_together, times("incast-64-short", "reno cubic htcp bbr", "mean p99")),
    Cause(
        "hosts made equal",
        equal_hosts,
        (
            *times("rtt-1-4", "reno htcp", "p50"),
            *times("rtt-1-4", "cubic dctcp", "mean p99"),
        ),
    ),
    Cause("acknowledgements at once", quick_hosts, times("incast-16-no-rack", "cubic", "mean")),
)
#: Which figures depend on few flows or on the order of losses.
CHANCE: Figures = (
    *times("incast-2", "reno htcp", "mean"),
    *times("incast-16", "reno htcp", "mean p99"),
    *times("incast-16", "cubic", "mean"),
    *times("incast-16-ecn", "cubic", "p50"),
    *times("incast-16-no-rack", "reno", "mean"),
    *times("incast-16-rto-5ms", "reno", "p50 mean"),
    *times("incast-16-rto-5ms", "cubic", "mean"),
    *times("incast-16-rto-50ms", "reno", "p50 mean"),
    *times("incast-16-rto-50ms", "cubic", "mean"),
    *times("incast-64", "reno cubic htcp", "mean"),
    *times("incast-64-short", "dctcp", "mean"),
    *times("incast-64-short", "reno cubic htcp bbr", "p50"),
    *times("parking-lot", "reno", "p50 mean"),
    *times("parking-lot", "cubic htcp", "mean"),
    *times("rtt-1-4", "reno htcp", "mean"),
    *times("loss-1%", "dctcp", "p50 mean p99"),
    *times("loss-1%", "bbr", "mean p99"),
)


def measure(key: str, change: Callable[[Scenario], None], number: int = 0) -> linux.Figures:
    """Our figures of a pair after a change of the hosts, with the set of seeds of that number."""
    name, control = key.split("/")
    setting = next(setting for setting in linux_matrix.SETTINGS if setting.name == name)
    runs = []
    for seed in range(1 + number * setting.seeds, 1 + (number + 1) * setting.seeds):
        scenario = setting.scenario(control, seed, emulated=False)
        change(scenario)
        runs.append(ours.run(scenario))
    return linux.of_runs(runs)


def pairs(figures: Figures) -> dict[str, list[str]]:
    """The figures of each pair."""
    found: dict[str, list[str]] = {}
    for key, name in figures:
        found.setdefault(key, []).append(name)
    return found


def label(key: str, name: str) -> str:
    """A figure as the document names it."""
    return f"{key.replace('/', ', ')}: {name.removeprefix('fct_').removesuffix('_us')}"


def main() -> None:
    """Prints both tables."""
    peers = linux.kept()
    print("| cause | figure | as it is | without the cause |\n|---|---|--:|--:|")
    for cause in CAUSES:
        for key, names in pairs(cause.settles).items():
            before, after = measure(key, unchanged), measure(key, cause.change)
            for name in names:
                apart = [f"{linux.distance(each[name], peers[key][name]):+.1%}" for each in (before, after)]
                cells = " | ".join(apart).replace("-", "−")
                print(f"| {cause.name} | {label(key, name)} | {cells} |", flush=True)
    print("\n| figure | least µs | mean µs | greatest µs | Linux µs |\n|---|--:|--:|--:|--:|")
    for key, names in pairs(CHANCE).items():
        sets = [measure(key, unchanged, number) for number in range(1, SETS + 1)]
        for name in names:
            values = [each[name] for each in sets]
            row = (min(values), sum(values) / SETS, max(values), peers[key][name])
            print(f"| {label(key, name)} | {' | '.join(f'{value:.4g}' for value in row)} |", flush=True)


if __name__ == "__main__":
    main()
