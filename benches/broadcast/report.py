"""The section of docs/benchmarks.md on broadcasts, from rows of bench/results.jsonl."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

OWN = "**incast broadcast**"
MEAN = "fast receivers, mean"
LEAST = "share of the bound, fast receiver, least"
FAR_METRIC = "seconds over a long path"
OUTAGE_METRIC = "cost of an outage"
NEVER = "never"

FAR = """
The next table is a long path to one receiver: a round trip of 100 ms, and a file for 8 s of the link
(`python -m benches.broadcast.far`). Packets go through a program that delays them and drops what exceeds a
queue of one round trip; both programs pay for it. The target is 0.95 of curl's rate over plain HTTP. At load
7 to 11 four runs gave 0.94 to 0.96. Ours takes 0.4 to 0.6 s longer at both rates, four to six round trips:
the loss is at the beginning and the end, not in the rate.

"""

OUTAGES = """
The next table has the cost of outages in seconds: how much longer a broadcast takes than an undisturbed one,
of 13.5 s (`python -m benches.broadcast.outages`). 8 MB go to three hosts at 5 and 10 Mb/s. While data flows a
host is cut off, once or three times: its interface is *down*, its link has no *carrier*, its packets *drop*,
or its processes are *frozen*. The launcher is cut off from one host, or frozen without the source. Every copy
was whole and every exit code 0. *Late* is an outage that cost more than 5 s beyond its duration. TCP tries
again every 2 s (Linux 6.15), and a link that carried nothing is planned with again 4 s later, so an outage
may cost 6 s more than it lasts. Why a leaf without carrier once cost 17 s more is not known; the same case
cost 3 and 5 s more in two other runs. A broadcast may be over before the third outage, where the others cost
it less.

"""

HEAD = """## Broadcasts

One file goes from a source to eight receivers around a switch, each on a link with the same rate in both
directions. The title of a table has the receivers' rates; the source has the highest of them. *As typed*
means that our program is not told the rates. Hosts are network namespaces. Links are veth pairs of 1500
bytes with a token bucket at each end (bursts of 3 ms, a queue of 50 ms, at least 64 kB, tail drop;
`testkit/namespaces.py`). Files are in memory. TCP is CUBIC. `python -m benches.broadcast` runs it, as root.
Peers are wheels and unpacked Debian packages (`benches/broadcast/install.py`), driven as
`benches/broadcast/peers.py` says.

- **Seconds** count from the moment when the source has put 20 kB onto its link (for MPI: when all ranks have
  met) until the file is at a receiver under its final name; every byte is compared afterwards. Starting the
  programs is not counted for any of them.
- **Share** (our target is 0.95 or more, for 12 MiB as typed 0.9) is the time of a single TCP transfer alone
  in the same network, divided by the time of the last fast receiver. So 1 is what a receiver gets when no
  other receiver wants the file.
- **Aggregate** is the sum of the receivers' rates, file size over seconds.
- **Sent** is the traffic over the source's link, in multiples of the file, with headers as far as the kernel
  counts them.
- If a receiver is killed, its processes get SIGKILL when the file would be at 40 % at best; its own row is
  left out. *Never* means after 15 times (otherwise 25 times) the best time of a fast receiver, or when the
  program gives up.
- **Peers.** `TCP to all at once` is one sendfile loop per receiver, and `one after the other` the same in
  sequence. `TCP chain` forwards each 64 kB as soon as it arrives (the slow receiver is the fourth; as typed,
  the slow ones are the last). udpcast and uftp let the switch copy packets, which needs a network with
  multicast and, between subnets, routers that take part. **`uftp -R` sends at a rate configured for this very
  link, without congestion control: next to other traffic it takes that rate regardless.** It shows what the
  switch could do at best. libtorrent has no tracker to wait for and knows all peers at once. Open MPI chooses
  its own tree.
- **Limits.** There is one run each (16 MiB at 200 Mb/s: the median of three), with all programs in one
  session. During the measurements of 20 Mb/s links the machine was idle except for one process at idle
  priority; later other programs sometimes ran at low priority. Two cores carry nine hosts: at 200 Mb/s
  programs wait for the processor as well as for links, and programs that copy and hash more wait longer.
  Bridges have no delay.

"""

LOOPBACK = """
The next table is the loopback interface without a limit, to one receiver, encrypted as by default and plain.
The file is in the page cache, and the receiver of a bare sendfile loop writes it into memory or discards it.
Ours reads and hashes it at the source, checks the hash of each chunk and writes it in a separate thread.
Figures are medians of five alternating runs on an idle machine. The processor is the limit: for 1 GiB both
ends together compute 0.9 s, and 1.7 s when they encrypt (AES-GCM; 2.6 s and 4.5 Gb/s with ChaCha20).

"""

PLANNING = """
The next table has the time to compute a plan, in processor seconds of one thread, with every host as a
destination. Topologies are those of `crates/broadcast/tests/support`: clusters of 40 hosts, random trees,
random graphs with three links per host; rates from 100 to 1000 Mb/s, or 100 and 1000 mixed.

"""


def section(rows: Iterable[dict[str, Any]]) -> str:
    """Markdown; empty without rows."""
    kept = list(rows)
    parts = [HEAD] if kept else []
    for case in dict.fromkeys(row["case"] for row in kept):
        each = [row for row in kept if row["case"] == case]
        if any(row["metric"] == MEAN for row in each):
            parts.append(f"**{case}**\n\n{table(each)}\n\n")
    if bare := [row for row in kept if row["unit"] == "Gb/s"]:
        parts.append(f"{LOOPBACK}{rates(bare)}\n")
    if far := [row for row in kept if row["metric"] == FAR_METRIC]:
        parts.append(f"{FAR}{paths(far)}\n")
    if cut := [row for row in kept if row["metric"] == OUTAGE_METRIC]:
        parts.append(f"{OUTAGES}{outages(cut)}\n")
    planned = [row for row in kept if row["metric"] == "processor time"]
    if planned:
        parts.append(f"{PLANNING}{times(planned)}\n")
    return "".join(parts)


def table(rows: list[dict[str, Any]]) -> str:
    """One line per program."""
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
    lines = ["| program | Gb/s | compared with | Gb/s | ratio | target |", "|---|--:|---|--:|--:|---|"]
    for row in rows:
        cells = [
            row["metric"],
            figure(row["ours"]),
            row["peer_name"],
            figure(row["peer"]),
            f"{row['ratio']:.2f}",
        ]
        lines.append(f"| {' | '.join([*cells, aim(row)])} |")
    return "\n".join(lines)


def paths(rows: list[dict[str, Any]]) -> str:
    """Of long round trips."""
    lines = ["| link | curl, s | ours, s | curl / ours | target |", "|---|--:|--:|--:|---|"]
    for row in rows:
        cells = [row["case"], figure(row["peer"]), figure(row["ours"]), f"{row['peer'] / row['ours']:.2f}"]
        lines.append(f"| {' | '.join([*cells, aim(row)])} |")
    return "\n".join(lines)


def outages(rows: list[dict[str, Any]]) -> str:
    """A line per host and kind of outage, a column per duration."""
    costs: dict[str, dict[str, str]] = {}
    for row in rows:
        host, kind, outage = row["case"].split(", ")
        late = "" if row["met"] else " **(late)**"
        costs.setdefault(f"{host}, {kind}", {})[outage] = cost(row["ours"]) + late
    columns = sorted({outage for line in costs.values() for outage in line}, key=order)
    lines = [f"| host, kind | {' | '.join(columns)} |", f"|---|{'--:|' * len(columns)}"]
    for name, line in costs.items():
        lines.append(f"| {name} | {' | '.join(line.get(outage, '–') for outage in columns)} |")
    return "\n".join(lines)


def cost(seconds: float | None) -> str:
    """Of an outage; nothing of one that left a host without the file."""
    return "**failed**" if seconds is None else f"{seconds:+.1f}"


def order(outage: str) -> tuple[int, float]:
    """By how many outages there are, then by how long they last."""
    times, _, seconds = outage.removesuffix(" s").partition(" x ")
    return int(times), float(seconds)


def aim(row: dict[str, Any]) -> str:
    """A target, and whether it is met."""
    return "" if row["target"] is None else f"{row['target']}: {'met' if row['met'] else '**missed**'}"


def times(rows: list[dict[str, Any]]) -> str:
    """Of planning."""
    lines = ["| plan | s | target, s |", "|---|--:|--:|"]
    for row in rows:
        target = "–" if row["target"] is None else figure(row["target"])
        lines.append(f"| {row['case'].partition(': ')[2]} | {row['ours']:.3f} | {target} |")
    return "\n".join(lines)
