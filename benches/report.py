"""Writes docs/benchmarks.md from a named run: `python -m benches.report NAME`.

Walks are measured by `python -m benches.walk`, broadcasts by `python -m benches.broadcast`: each of their
rows is shown as it was measured last (bench/results.jsonl).
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

from benches.broadcast import report as broadcasts
from benches.mine import report as miners
from benches.run import BENCH, number

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"

HEAD = """# Benchmarks

<!-- Written by `python -m benches.report {name}`; the next run overwrites it. -->

`make bench` runs the same work here and in ns-3 and prints this table. The figures below are of the run
`{name}` of {date}, on {processor}, {system}.

- **Peer**: {ns3}. Its driver program is ours:
  `testkit/ns3/driver.cc`.
- **Work**: DCTCP, 10 Gb/s links of 1 µs, marking above 65 packets, 256 packets per port, initial window 10,
  one acknowledgement per packet, a retransmission timeout of at least 10 ms, timestamps.
- **Packet-hop**: one packet sent on one link. **CPU time**: the median of three runs for ours, start-up
  included; for ns-3 the time of its event loop alone.
- **Instructions**: counted by callgrind on two sizes of the case. The difference is divided by the difference
  in packet-hops, so start-up does not count. For the flows into one host these are 500 and 1000 flows; they
  differ by the flows that find the queue full and lose most. *One more round* is the difference between
  running the 1000 flows once and twice in sequence. It covers the whole case with its openings, losses and
  ends, and the reading of its list of flows, without one-time work.
- **Memory**: the peak of the whole process, shared libraries included, as was measured for htsim. Ours is
  `crates/scenario/examples/measure.rs`: all of the simulator, but no tables; htsim writes none either.
- ns-3 carries less data in some cases (`peer_size` in `benches/run.py`): the comparison is of the cost per
  packet-hop. Its memory is given only if the sizes are equal.
- **Ratio** is ours divided by the peer's. For packet-hops per CPU second the target is that ratio. For
  instructions per packet-hop it is the number itself, and for memory htsim's value on this work in MB. In the
  second table it is the cost relative to 128 hosts.
"""

TITLES = {
    "ns-3": "Compared with ns-3",
    "scaling": "From 128 to 8192 hosts",
    "threads": "Two threads",
}

LIMITS = """## Missed targets and their causes

Counted by callgrind and `perf` on the version of 2026-11-22. Since then TCP has got four more of Linux's
rules: quick acknowledgements, proportional rate reduction, trains of acknowledgements, and the longer wait
before a tail loss probe. The simulator has got fluids, parts and areas that are skipped. A hop of a flow
without loss takes 396 instructions now instead of 387, one more round of the flows into one host 730 instead
of 656. The program takes 5.5 MB by itself, in every case, instead of 3.3.

- **The machine** is virtual, and was half as fast in the minutes of this run as in others: a hop in the fat
  tree of 128 hosts took 64 ns in the run before, and 103 ns in this. Ours and ns-3 are measured in turn, so
  their ratio holds: on 2 × AMD EPYC it was 106 to 219.
- **Two threads** gain less in slow minutes: 1.2 times at 128 hosts and 1.5 at 1,024. In seven runs in faster
  minutes they were 1.31 to 1.44 times as fast as one at 128 hosts, 1.56 to 1.73 times at 1,024 and 1.61 to
  1.79 times at 8,192. As people run it, with tables (`incast run`, 1,024 hosts, 4 MB per host, start-up not
  counted), they are twice as fast: there each hop takes longer, and meetings as long. Two such runs side by
  side take 1.97 times as much work as one.
- **Instructions of the flows into one host.** Of 656 per packet-hop (one more round) 41 read and plan the
  list of flows, and 615 are the event loop's. A hop of a flow without loss takes 387, as in the incast. The
  rest is specific to this case. 6 packets of each flow are dropped. A quarter of all segments arrive beyond a
  gap or acknowledge one (about 900 instructions for an acknowledgement with SACK blocks, 500 to accept a
  segment beyond a gap and answer it). A flow of 196 hops is opened and ended once (about 14,000). For a total
  of 400 all of that could cost only 13 per hop. The pair of 500 and 1000 flows gives a higher value than the
  case costs, because 500 flows stay mostly below the limit of the queue.
- **Memory of the flows into one host.** Of 8.2 MB 3.3 MB are the program and its libraries, as in every case
  (the incast takes 3.8 in all). 1.6 MB are 1000 flows with two ends of 740 bytes, 0.9 MB the 3003 ports, 0.3
  MB the packets in flight, 0.2 MB the hosts. The rest is the list of flows, their processes, routes, the
  event queue and unused gaps. An end that only receives could do without the sender's half: that would save
  0.5 MB, and 5 MB would still be out of reach.
- **CPU time at 8192 hosts.** Both versions were measured in turn. A packet-hop took 205 to 236 cycles at 128
  hosts (previous version: 211 to 245), 290 to 341 at 1024 (318 to 377) and 435 to 601 at 8192 (695 to 788).
  The higher figures are from times when other programs used the same cache. The ratio fell from 3.2 to
  between 2.1 and 2.6. The simulation takes 100 MB there, the cache has 32 MB. 443 instructions at the rate of
  the smallest tree would take 1.46 times its cycles, so the target leaves no time to wait for memory at all.
  The following brought no gain: a look-ahead pipeline over several buckets (0 to 5 % slower), looking further
  ahead along queues (16 instructions more, 5 % faster at 8192 hosts and 5 % slower at 1024), link-time
  optimisation. Huge pages under the whole heap (`GLIBC_TUNABLES=glibc.malloc.hugetlb=1`), not only under the
  large arenas, give 3 to 19 % more.
"""

WALKS_TITLE = "## Random walks\n"
WALKS = f"""{WALKS_TITLE}
The table has steps per second of processor time on one thread, compared with libraries for walks
(`benches/walk/requirements.txt`). These always write paths, so they are compared with our rows that do so
too. `sbm` is the graph of Takizawa's experiments, three blocks of 100 nodes; `rmat` has 47 million arcs, more
than any cache holds. Loading and compiling are not counted. igraph walks a million steps per call: its cost
per call grows with the nodes.

`sockets` is three servers on the loopback interface of one machine, one process each, on that graph, with a
probability of .15 to stop before each step: 5.67 steps per walk. The targets, 4 M walks and 27 M steps,
assume walks that stop after a step, 6.67 per walk. With a probability of .13 our walks have that length, and
make 3 to 5 % more steps in the same time.

Two thirds of the processor time are spent outside the kernel, where no single place stands out. The more
walkers wait at a server, the more leave together. A server that has received a lot therefore pauses for some
60 µs before it looks again. Trains are then a third longer, and 2 to 5 % more steps are made (in paired
runs). The machine is virtual: the same program made 10 % more or fewer steps from one minute to the next. In
alternating runs, with 26.3 M steps for the previous version, walkers generated in runs and tags of eight
datagrams at once gave 28.8 M, and with the pause 29.9.

The processor time is that of all three, user and system. *Bare* is the system calls alone with as many bytes
per datagram, with one process sending to itself, in the same run. Without GSO nine tenths of the time are the
kernel's and 7 % ours, so .93 of bare is nearly the limit. The bare calls stay on one CPU, the servers don't:
a buffer that one CPU fills and another frees costs more (.80 to .86 of bare, on a quiet machine too). That is
the kernel's cost, not the servers'. *Three* bare processes, which send each other as much as the servers do,
have the same cost, and the servers reach .9 or more of their rate. Servers on one CPU reach .91 of one bare
process. A pause before each look, as with GSO, changes nothing here.

These were tried without GSO, in paired runs. Batches of 16, 64 and 256 datagrams per call show no significant
difference, nor do receive buffers of 2 kB instead of 64 kB. (The kernel's busy polling is off.) Omitting the
sender's name and the count of overflows saves 2 % of the bare calls, but both are needed. Sockets connected
to their receiver save the route look-up, about 12 % of the bare calls' time, for ours and theirs alike.
Servers don't use them: they would have to share a port, with one socket per peer, each read separately. With
GSO, the default, there is one such look-up for 128 datagrams.

"""


MINING = """## Mining

The table compares `incast mine` on one node with miners in Python. The data is Quest's, like FIMI's
T10I4D100K and like Table 2 of Oguchi et al.; FIMI's `retail`, with 240,852 large itemsets at 0.01 % and
1,506,775 at 0.005 %; and dense: as many rows, attributes and values as chess (37 attributes), mushroom (23)
and pumsb (74) have. Each is a whole process on one thread: start-up, reading the text, mining; ours also
writes its result, as Parquet. The peers build Python lists first, as their users do. Spark has two threads
and reads the text, and the start of its Java machine counts; with 4 GB it did not finish a million
transactions in 11 minutes. On T10I4D100K at 1 % mlxtend and Spark took 4.7 and 40 s of processor time on
2026-11-22, and were not always measured again. The target is a tenth of the best peer's processor time on the
data of Table 2, half of it on T10I4D100K, and the best peer's time on the other data. For memory it is at
most twice the file or a quarter of pyfim's. On files of a few MB that limit of memory is out of reach, and
has no row: most of the memory there is Python and the core themselves. Wall times are from a machine with
other work, and vary with it.

"""


def table(rows: list[dict[str, Any]], *, linux: bool = False) -> str:
    """A Markdown table; with the kernel that hosts had if `linux`."""
    kernel = (" Linux |", "---|") if linux else ("", "")
    lines = [
        f"| case | metric |{kernel[0]} ours | peer | ratio | target |",
        f"|---|---|{kernel[1]}--:|--:|--:|---|",
    ]
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
            *([row["linux"]] if linux else []),
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

The table gives the cost of a fault of `incast farmem run` beyond the wait that it injects
(`python -m benches.farmem`). It is compared with the minimum that userfaultfd allows in the same run: a
thread on the same processor that reads a fault and copies a page. Each fault fetches a page and sends one;
the page is read, then written. Figures are the tenth percentile of short sweeps, because other load lengthens
some of them.

If the delay is longer than the work, most of the work overlaps with it: the page arrives during the wait, and
the waiting thread is woken at its end, as long as the program has one thread. Without a delay a fault takes
1.38 times the minimum. One more page moves, the leaving page is checked for writes, and the first write to
the new page lifts its protection, which alone takes a microsecond. That target is missed at 0 µs.

It is **missed** by more in the rows *here and there*, 1.9 times the minimum, where the pages that leave are
not adjacent. Each is then moved and checked alone, while eight adjacent pages leave with one call. With a
delay of 10 µs the target is met there too. With all memory local, the library adds some 0.3 ms and 75 page
faults of the kernel at the start, and then nothing measurable. That is per process: a script that starts ten
of them pays ten times.

*Server* is a memory server (`incast farmem serve`) in another network namespace, behind a link without a
limit. *Ping* sends as many bytes as a page request has and receives as many as its answer, over TCP, and
nothing else. The requesting ends have one processor, the answering ends the other. One ping sleeps until
something arrives; the other spins, as both ends of remote memory do for 100 µs before they sleep. Percentiles
are of single faults and answers; a page that is read and written makes another leave for the server. One
fault in eight moves the pages that leave next, and takes longer: see the 90th percentile.

A fault takes less time than a sleeping ping, so that target is met. It is **missed** by far compared with a
spinning ping: 2.2 times, and 2.9 times if pages are written. Of a page that is read 8 µs are that ping, and 6
µs are the minimum of userfaultfd. Together they are 1.8 times the ping, so 1.3 times is out of reach through
userfaultfd. How long a sleeping thread takes to wake depends on the machine: a ping took 31 µs while other
programs kept its processors awake.

*lz4* and *zstd* are programs whose pages travel compressed to under half of their size; the rows give the
error of their waits. Not measured: two machines, and both ends on one processor.

"""


VIEW_TITLE = "## Pictures in the browser\n"
VIEW = f"""{VIEW_TITLE}
The table gives how soon `incast view` shows a run with 10 million samples: 1,000 ports of a fat tree, each
sampled 10,000 times (`python -m benches.view`). Times count from the page's navigation on, in Chromium
without a window. The core writes levels next to samples. A run of an earlier version has none, so they are
computed at the first visit.

Writing them costs the run little: a permutation on a fat tree of 128 hosts with 13 million samples took 5.9 s
of processor time with levels and 5.6 s without (2026-11-26, medians of four alternating runs). The previous
version took 6.4 s, because a port's name in each sample cost more. Levels take a sixth of the samples' room.

"""
EMULATED_TITLE = "## Emulated hosts\n"
EMULATED = f"""{EMULATED_TITLE}
The table gives what Linux hosts on the modelled network cost ([how to](how-to/emulate.md)), by
`python -m benches.emu`. Each row is the median of three whole runs of `incast run`, with Python's start, all
guests and the tables; only the figures of real time are those of the worst run. A frame is a packet that a
host has put on its link, acknowledgements among them. *20 µs* is the moderation of interrupts.

The kernel decides what it costs. Up to 6.15 Linux traces its programs there by ptrace: a system call takes
four calls and two switches, and programs stop four times for each frame. From 6.16 on it uses seccomp
instead. Turns between guests and the calendar take most of the rest, 1.5 for each frame. In real time hosts
are parts of this machine and have its kernel. There the network has one of the two processors, and the
programs the other. Processor time depends on the machine: on another, with 2 × AMD EPYC, a frame took 43 µs
at 1 Gb/s and 9.4 µs at 10 Gb/s with 7.3, and 64 and 11 µs with 6.12 (2026-11-27).

"""
START_TITLE = "## Starting, and studies\n"
START = f"""{START_TITLE}
What a run costs beyond its packets (`python -m benches.start`): the whole command, with its report, which is
the default, and without. And a study of a thousand small cells (`python -m benches.study`, on a memory disk),
of which a process runs one after the other.

- **Processor time** depends on the machine, and here on the minute. In fast, middling and slow ones two hosts
  took 0.35, 0.49 and 0.56 s, 8,192 hosts 0.8, 1.1 and 1.4 s, and 100,000 flows 1.3, 1.8 and 2.3 s. With the
  report it was 0.6, 0.6 and 1 s, 1.3, 1.7 and 2 s, and 1.6, 2 and 2.9 s. The table is of a fast one.
- **The report** is **missed** in memory for two hosts, and in time for them and for 100,000 flows. Polars and
  Jinja take 0.2 to 0.3 s and 75 MB, so two hosts with it can't meet the targets.
- **On a disk** (ext4, where an fsync takes 0.1 ms) the study takes 4.7 to 5.6 s, with the processors 86 %
  busy: a run waits 6 times until what it has written is there.

"""


def measured(bench: str) -> list[dict[str, Any]]:
    """The rows of a bench of its own, each as it was measured last."""
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    file = BENCH / "results.jsonl"
    for line in file.read_text().splitlines() if file.exists() else []:
        row = json.loads(line)
        if row["bench"].startswith(bench):
            last[row["case"], row["metric"], row["peer_name"], row.get("linux")] = row
    return list(last.values())


def of_emulated(document: str) -> str:
    """The document with what `benches.emu` has measured."""
    before, _, _ = document.partition(EMULATED_TITLE)
    return f"{before.rstrip()}\n\n{EMULATED}{emulated_hosts()}"


def emulated_hosts() -> str:
    """What `benches.emu` has measured."""
    rows = measured("emu")
    return f"{miners.when(rows)}{table(rows, linux=True)}\n"


def of_start(document: str) -> str:
    """The document with what `benches.start` and `benches.study` have measured."""
    before, title, behind = document.partition(WALKS_TITLE)
    before, _, _ = before.partition(START_TITLE)
    return f"{before.rstrip()}\n\n{start()}\n\n{title}{behind}"


def start() -> str:
    """The section of starting and of studies."""
    rows = [*measured("start"), *measured("study")]
    return f"{START}{miners.when(rows)}{table(rows)}"


def of_simulator(document: str) -> str:
    """The document with the run `latest` of `benches.run`."""
    _, title, behind = document.partition(START_TITLE)
    return f"{simulator('latest')}\n{title}{behind}"


def simulator(name: str) -> str:
    """The document's head, and what `benches.run` has measured under this name."""
    run = json.loads((BENCH / f"{name}.json").read_text())
    parts = [HEAD.format(**run, **run["machine"])]
    for bench, rows in itertools.groupby(run["rows"], key=lambda row: str(row["bench"])):
        parts.append(f"## {TITLES[bench]}\n\n{table(list(rows))}\n")
    return "\n".join([*parts, LIMITS])


def of_mining(document: str) -> str:
    """The document with what `benches.mine` has measured on one node."""
    alone = [row for row in measured("mine") if row["bench"] == "mine"]
    return miners.refreshed(document, alone, MINING, table(alone))


def of_view(document: str) -> str:
    """The document with what `benches.view` has measured."""
    before, title, behind = document.partition(EMULATED_TITLE)
    before, _, _ = before.partition(VIEW_TITLE)
    return f"{before.rstrip()}\n\n{VIEW}{table(measured('view page'))}\n\n{title}{behind}"


SECTIONS = {
    "emu": of_emulated,
    "mine": of_mining,
    "simulator": of_simulator,
    "start": of_start,
    "view": of_view,
}


def kept(document: str, head: str) -> str:
    """A section as it is in the document, by the title with which its head begins."""
    title, end, _ = head.partition("\n")
    _, _, behind = document.partition(f"\n{title}{end}")
    return f"{title}{end}{re.split('^##+ ', behind, maxsplit=1, flags=re.MULTILINE)[0].rstrip()}\n"


def main() -> None:
    """Reads bench/NAME.json; of the names in `SECTIONS`, writes only what these have measured.

    A section of which nothing was measured here stays as it is.
    """
    document = DOCUMENT.read_text()
    if section := SECTIONS.get(sys.argv[1]):
        DOCUMENT.write_text(section(document))
        return
    alone = [row for row in measured("mine") if row["bench"] == "mine"]
    found = {
        START: f"{start()}\n" if measured("start") else "",
        WALKS: f"{WALKS}{table(walked)}\n" if (walked := measured("walk")) else "",
        broadcasts.HEAD: broadcasts.section(measured("broadcast")),
        MINING: f"{MINING}{miners.when(alone)}{table(alone)}\n" if alone else "",
        miners.NODES: miners.section(measured("mine nodes")),
        FARMEM: f"{FARMEM}{table(faulted)}\n" if (faulted := measured("farmem")) else "",
        VIEW: f"{VIEW}{table(viewed)}\n" if (viewed := measured("view page")) else "",
        EMULATED: f"{EMULATED}{emulated_hosts()}" if measured("emu") else "",
    }
    parts = [text or kept(document, head) for head, text in found.items()]
    DOCUMENT.write_text("\n".join([simulator(sys.argv[1]), *parts]))


if __name__ == "__main__":
    main()
