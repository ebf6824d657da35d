"""The section of docs/benchmarks.md on broadcasts, from rows of bench/results.jsonl."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

OWN = "**incast broadcast**"
MEAN = "fast receivers, mean"
LEAST = "share of the bound, fast receiver, least"
NEVER = "never"

HEAD = """## Broadcasts

One file from a source to eight receivers around a switch, each on a link with a rate both ways; one
receiver has a tenth of the others' rate. Hosts are network namespaces, links veth pairs of 1500 bytes
with a token bucket at each end (bursts of 3 ms, a queue of 50 ms, at least 64 kB, drops at its tail;
`benches/namespaces.py`). Files lie in memory. TCP is CUBIC. `python -m benches.broadcast` runs it, as
root; peers are wheels and unpacked Debian packages (`benches/broadcast/install.py`), driven as
`benches/broadcast/peers.py` says.

- **Seconds** count from the moment when the source has put 20 kB onto its link (for MPI: when all ranks
  have met) until the file is at a receiver under its final name; every byte is compared afterwards.
  Starting programs does not count, for nobody.
- **Share** (ours is to be 0.95 or more) is the time of one TCP transfer that is alone in the same
  network over the time of the last fast receiver. So 1 is what a receiver gets when nobody else wants
  the file.
- **Aggregate** is the sum of the receivers' rates, file over seconds.
- **Sent** is what went over the source's link, in files, with headers as far as the kernel counts them.
- Where a receiver is killed, its processes get SIGKILL when the file would be at 40 % at best; its own
  row is left out. *Never* is after 15 times (otherwise 25 times) the best time of a fast receiver, or
  when the program gives up.
- **What the peers are.** `TCP to all at once` is a sendfile loop a receiver, `one after the other` the
  same in turn, `TCP chain` passes each 64 kB on when it has come (the slow receiver is the fourth).
  udpcast and uftp let the switch copy packets, which needs a network with multicast and, between
  subnets, routers that take part. **`uftp -R` sends at a rate that a person has set for this very link,
  without congestion control: beside anybody else's traffic it takes what it was told to take.** It
  stands here for what the switch could do at best. libtorrent has no tracker to wait for and knows all
  peers at once. Open MPI chooses its own tree.
- **Limits.** One run each (16 MiB at 200 Mb/s: the median of three), all programs in one go. While the
  links of 20 Mb/s were measured the machine was idle but for one process at idle priority; later other
  programs ran at low priority now and then. Two cores carry nine hosts: at 200 Mb/s programs wait for the
  processor as well as for links, and who copies and hashes more waits longer. Bridges have no delay.

"""

LOOPBACK = """
The loopback interface without a limit, to one receiver: the file is in the page cache, the receiver of a
bare sendfile loop writes it into memory or throws it away. Ours reads and hashes it at the source, checks
the hash of each chunk and writes it in a thread of its own. Medians of five runs in turn. For a gigabyte
ours takes 1.7 s of processor time and the bare loop 0.9 s; hashing at both ends is 0.5 s of it. So the ratio
is one of how much of two processors is free: 0.5 to 0.9 were measured on a machine with other work.

"""

PLANNING = """
How long a plan takes, in processor seconds of one thread, with everybody as a destination. Topologies are
those of `crates/broadcast/tests/support`: clusters of 40 hosts, random trees, random graphs with three links
a host; rates from 100 to 1000 Mb/s, or 100 and 1000 mixed.

"""


def section(rows: Iterable[dict[str, Any]]) -> str:
    """Markdown; empty without rows."""
    kept = list(rows)
    parts = [HEAD] if kept else []
    for case in dict.fromkeys(row["case"] for row in kept):
        each = [row for row in kept if row["case"] == case]
        if any(row["metric"] == MEAN for row in each):
            parts.append(f"**{case}**\n\n{table(each)}\n\n")
    slow = [row for row in kept if row["metric"] == "rate"]
    if slow:
        parts.append(f"{LOOPBACK}{rates(slow)}\n")
    planned = [row for row in kept if row["metric"] == "processor time"]
    if planned:
        parts.append(f"{PLANNING}{times(planned)}\n")
    return "".join(parts)


def table(rows: list[dict[str, Any]]) -> str:
    """A line a program."""
    head = ["program", "fast receivers, s", "share", "slow one, s", "aggregate, Mb/s", "sent"]
    lines = [f"| {' | '.join(head)} |", "|---|--:|--:|--:|--:|--:|"]
    programs: dict[str, dict[str, float | None]] = {}
    for row in rows:
        if row["peer_name"] is None:
            programs.setdefault(OWN, {})[row["metric"]] = row["ours"]
        else:
            programs.setdefault(row["peer_name"], {})[row["metric"]] = row["peer"]
    for name, values in sorted(programs.items(), key=lambda entry: entry[0] != OWN):
        lines.append(f"| {name} | {' | '.join(cells(values))} |")
    return "\n".join(lines)


def cells(values: dict[str, float | None]) -> list[str]:
    """Of a program; the bound has only times."""
    if LEAST not in values:
        return [figure(values.get(MEAN)), "1", figure(values.get("slow receiver")), "–", "–"]
    first, last = values["fast receivers, first"], values["fast receivers, last"]
    fast = f"{figure(values[MEAN])} ({figure(first)} to {figure(last)})"
    if last is None:
        fast = f"{values['fast receivers that have it']:.0f} have it" if first else NEVER
    rest = (values["slow receiver"], values["aggregate"], values["sent by the source, times the file"])
    share = values[LEAST]
    return [fast, "–" if share is None else f"{share:.2f}", *map(figure, rest)]


def figure(value: float | None) -> str:
    """Three digits."""
    if value is None:
        return NEVER
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def rates(rows: list[dict[str, Any]]) -> str:
    """Of the loopback interface."""
    lines = ["| beside | Gb/s | ours, Gb/s | ratio | target |", "|---|--:|--:|--:|---|"]
    for row in rows:
        ours = "–" if row["ours"] is None else figure(row["ours"])
        ratio = "–" if row["ratio"] is None else f"{row['ratio']:.2f}"
        target = "" if row["target"] is None else f"{row['target']}: {'met' if row['met'] else '**missed**'}"
        lines.append(f"| {row['peer_name']} | {figure(row['peer'])} | {ours} | {ratio} | {target} |")
    return "\n".join(lines)


def times(rows: list[dict[str, Any]]) -> str:
    """Of planning."""
    lines = ["| plan | s | target, s |", "|---|--:|--:|"]
    for row in rows:
        target = "–" if row["target"] is None else figure(row["target"])
        lines.append(f"| {row['case'].partition(': ')[2]} | {row['ours']:.3f} | {target} |")
    return "\n".join(lines)
