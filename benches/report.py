"""Writes docs/benchmarks.md from a named run: `python -m benches.report NAME`.

Walks are measured by `python -m benches.walk`, broadcasts by `python -m benches.broadcast`: each of their
rows is shown as it was measured last (bench/results.jsonl).
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

from benches.broadcast import report as broadcasts
from benches.mine import report as over_nodes
from benches.run import BENCH, number

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"

HEAD = """# Benchmarks

<!-- Written by `python -m benches.report {name}`; the next run overwrites it. -->

`make bench` runs the same work here and in ns-3 and prints this table. The figures below are of the run
`{name}` of {date}, on {processor}, {system}.

- **Peer**: {ns3}. Its driver program is ours: `benches/ns3/driver.cc`.
- **Work**: DCTCP, 10 Gb/s links of 1 µs, marking above 65 packets, 256 packets a port, initial window 10, an
  acknowledgement a packet, retransmission timeout of at least 10 ms, timestamps.
- **Packet-hop**: a packet put on a link. **CPU time**: the median of three runs for ours, start-up
  included; ns-3's is that of its event loop alone. **Instructions**: counted by callgrind on two sizes of
  the case; the difference over the difference in packet-hops, so start-up does not count. For the flows into
  one host these are 500 and 1000 flows: they differ by the flows that find the queue full and lose most. *One
  more round* is the difference between the 1000 flows once and twice, one after the other: the whole case,
  its openings, losses and ends, and the reading of its list of flows, without what is done once.
- **Memory**: the peak of the whole process, shared libraries included, as it was for htsim. Ours is
  `crates/scenario/examples/measure.rs`: all of the simulator, but no tables; htsim writes none either.
- ns-3 carries less data in some cases (`peer_size` in `benches/run.py`): it is the cost a packet-hop that is
  compared. Its memory is given only where the sizes are equal.
- **Ratio** is ours over the peer's. The target for packet-hops per CPU second is that ratio; for
  instructions a packet-hop the number itself; for memory what htsim took on this work in MB; in the second
  table it is the cost over that of 128 hosts.
"""

TITLES = {"ns-3": "Beside ns-3", "scaling": "From 128 to 8192 hosts"}

LIMITS = """## What is missed, and what it consists of

Counted by callgrind and `perf` on the version of 2026-11-22.

- **Instructions of the flows into one host.** Of 656 a packet-hop (one more round) 41 read and plan
  the list of flows, and 615 are the event loop's. A hop of a flow that loses nothing takes 387, as
  in the incast. The rest is what this case is about: 6 packets of each flow are dropped, a quarter
  of all segments arrive beyond a gap or acknowledge one (about 900 instructions for an
  acknowledgement with SACK blocks, 500 to take a segment beyond a gap and answer it), and a flow of
  196 hops is opened and ended once (about 14,000). All of that together would have to cost 13 a hop
  for 400. The pair of 500 and 1000 flows gives more than the case costs: the former stay mostly
  below the limit of the queue.
- **Memory of the flows into one host.** Of 8.2 MB 3.3 MB are the program and its libraries, as in
  every case (the incast takes 3.8 in all). 1.6 MB are 1000 flows with two ends of 740 bytes, 0.9 MB
  the 3003 ports, 0.3 MB what is in flight, 0.2 MB the hosts; the rest is the list of flows, their
  processes, routes, the event queue and what lies unused between. An end that only receives could
  do without the sender's half: that would be 0.5 MB less, and 5 MB would still be out of reach.
- **CPU time at 8192 hosts.** Measured in turn with the version before, a packet-hop took 205 to 236
  cycles at 128 hosts (before: 211 to 245), 290 to 341 at 1024 (before: 318 to 377) and 435 to 601
  at 8192 (before: 695 to 788), the greater figures while other programs used the same cache: 3.2
  times became 2.1 to 2.6 times. The simulation is 100 MB there, the cache 32 MB. 443 instructions
  at the rate of the smallest tree would take 1.46 times its cycles, so the target leaves no time to
  wait for memory at all. Tried without gain: looking ahead in a pipeline over several buckets (0 to
  5 % slower), further ahead along queues (16 instructions more, 5 % faster at 8192 hosts and 5 %
  slower at 1024), link-time optimisation. Huge pages under the whole heap
  (`GLIBC_TUNABLES=glibc.malloc.hugetlb=1`), not only under the large arenas, give 3 to 19 % more.
"""

WALKS = """## Random walks

Steps a second of processor time on one thread, beside libraries for walks
(`benches/walk/requirements.txt`), which always write paths: they stand beside our rows that do so too. `sbm`
is the document's graph, three blocks of 100 nodes; `rmat` has 47 million arcs, which no cache holds. Loading
and compiling are not counted. igraph walks a million steps a call: what a call sets up grows with the nodes.

`sockets` is three servers on the loopback interface of one machine, a process each, on that graph, with a
probability of .15 to stop before each step: 5.67 steps a walk. The targets, 4 M walks and 27 M steps, are
of walks that stop after a step, 6.67 a walk. With a probability of .13 our walks are as long, and make 3 to
5 % more steps in the same time. Two thirds of the processor time are spent
outside of the kernel, where no single place stands out. The more walkers wait at a server, the more leave
together: a server to which much has come pauses for some 60 µs before it looks again, so trains are a third
longer, and 2 to 5 % more steps are made (in pairs). The machine itself is a virtual one: the same program
made 10 % more or fewer steps from one minute to the next. In turns, when the version before made 26.3 M
steps, walkers generated in runs and tags of eight datagrams at once made it 28.8 M, and with the pause 29.9.

The processor time of all three counts, user and system. *Bare* are the system calls alone with as many
bytes a datagram, one process sending to itself, in the same run. Without GSO nine tenths of the time are
the kernel's and 7 % ours, so .93 of bare is about all there is. The bare calls stay on one CPU, the servers
don't: a buffer that one CPU fills and the other frees costs more (.80 to .86 of bare, on a quiet machine
too). That is the kernel's cost, not the servers': *three* bare processes, which send to each other what the
servers have under way, pay it as well, and the servers make .9 or more of what they do; and servers on one
CPU make .91 of what one bare process does. A pause before each look, as with GSO, changes nothing here.

What was tried without GSO, in pairs: batches of 16, 64 and 256 datagrams a call make no difference that
could be told from chance, nor do receive buffers of 2 kB instead of 64 kB. (The kernel's busy polling is
off.) Not asking for the sender's name and the count of overflows saves 2 % of the bare calls, but both are
needed. Sockets that are connected to their receiver save the search for a route, about 12 % of the bare
calls' time, ours and theirs alike. Servers don't use them: they would have to share a port, a socket a
peer, each read by itself, and with GSO, the default, there is one such search for 128 datagrams.

"""


MINING = """## Mining

`incast mine` on one node beside miners in Python, on Quest's data: like FIMI's T10I4D100K, and like the
document's Table 2. A whole process each, on one thread: start-up, reading the text, mining; ours also writes
its result. The peers build Python lists first, as their users do; Spark has two threads and reads the text,
and its Java machine's start counts; with 4 GB it did not end a million transactions in 11 minutes. Targets
are a tenth of the best peer's processor time on the data of Table 2 and half of it on T10I4D100K, and no more
memory than twice the file or a quarter of pyfim's. On files of a few MB that limit of memory is out of reach,
and has no row: most of what is measured there is Python and the core themselves. Wall times are of a machine
that had other work, and vary with it.

"""


def table(rows: list[dict[str, Any]]) -> str:
    """A Markdown table."""
    lines = ["| case | metric | ours | peer | ratio | target |", "|---|---|--:|--:|--:|---|"]
    for row in rows:
        target = (
            ""
            if row["target"] is None
            else f"{number(row['target'])}: {'met' if row['met'] else '**missed**'}"
        )
        unit = "" if row["unit"] in ("1", "1/s") else f" {row['unit']}"
        # ns-3 is named above the table.
        name = f" ({row['peer_name']})" if row["peer"] is not None and row["bench"] not in TITLES else ""
        cells = [
            row["case"],
            row["metric"],
            number(row["ours"]) + unit,
            optional(row["peer"]) + name,
            optional(row["ratio"]),
        ]
        lines.append(f"| {' | '.join([*cells, target])} |")
    return "\n".join(lines)


def optional(value: float | None) -> str:
    """A figure that may be missing."""
    return "–" if value is None else number(value)


FARMEM = """## Remote memory

What a fault of `incast farmem run` costs beside the wait that it injects (`python -m benches.farmem`),
beside the least that userfaultfd can do in the same run: a thread on the same processor that reads a
fault and copies a page. Each fault fetches a page and sends one; the page is read, then written. Of
short sweeps the tenth percentile, because other load makes some longer. Where the delay is longer than
the work, most of the work is done meanwhile: the page comes during the wait, and who waits is told at
its end, as long as the program has one thread. Without a delay a fault is 1.35 times the floor: a page
more moves, the page that leaves is looked at for writes, and the first write to the page that came lifts
its protection, which alone is a microsecond. That target is missed at 0 µs. It is **missed** by more *here
and there*, 1.8 times the floor, where the pages that leave are no neighbours: each is moved and looked at
alone, while eight neighbours leave with one call. With all memory local, the library adds some 0.3 ms
and 75 page faults of the kernel's at the start, and then nothing that can be seen. That is a process: a
script that starts ten of them pays ten times.

*Server* is a memory server (`incast farmem serve`) in another network namespace, behind a link without a
limit. *Ping* sends as many bytes as a request for a page has and gets as many as its answer, over TCP,
and nothing else. The asking ends have one processor, the answering ends the other. One ping sleeps until
something comes; the other looks again and again, as both ends of remote memory do for 100 µs before they
sleep. Percentiles are of single faults and answers; a page that is read and written makes another leave
for the server. One fault in eight moves the pages that leave next, and takes longer: see the 90th percentile.
A fault takes less time than a ping that sleeps, so the target is met beside it, and it is **missed** by far
beside a ping that spins: 2.2 times, and 3.1 times where pages are written. Of a page that is read 8 µs are
that ping, and 6 µs are the floor of userfaultfd: together they are 1.8 times the ping, so 1.3 times is out of
reach through userfaultfd. How long who sleeps takes to wake depends on the machine: 31 µs a ping while
others kept its processors awake. Not measured: two machines, and both ends on one processor.

"""


def measured(bench: str) -> list[dict[str, Any]]:
    """The rows of a bench of its own, each as it was measured last."""
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    file = BENCH / "results.jsonl"
    for line in file.read_text().splitlines() if file.exists() else []:
        row = json.loads(line)
        if row["bench"].startswith(bench):
            last[row["case"], row["metric"], row["peer_name"]] = row
    return list(last.values())


def main() -> None:
    """Reads bench/NAME.json."""
    run = json.loads((BENCH / f"{sys.argv[1]}.json").read_text())
    parts = [HEAD.format(**run, **run["machine"])]
    for bench, rows in itertools.groupby(run["rows"], key=lambda row: str(row["bench"])):
        parts.append(f"## {TITLES[bench]}\n\n{table(list(rows))}\n")
    parts.append(LIMITS)
    if walked := measured("walk"):
        parts.append(f"{WALKS}{table(walked)}\n")
    if sent := broadcasts.section(measured("broadcast")):
        parts.append(sent)
    if mined := measured("mine"):
        parts.append(f"{MINING}{table([row for row in mined if row['bench'] == 'mine'])}\n")
        parts.append(over_nodes.section(measured("mine nodes")))
    if faulted := measured("farmem"):
        parts.append(f"{FARMEM}{table(faulted)}\n")
    DOCUMENT.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
