"""Python's resolved form against the settings that the core reads, every field and variant of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from farmem_traces import scans, write
from helpers import variants
from incast.emu import kernel

CRATES = Path(__file__).parents[2] / "crates"
# Where the settings of scenarios are declared.
DECLARED = (
    "scenario/src/lab/*.rs",
    "scenario/src/kinds/*.rs",
    "fabric/src/config.rs",
    "fabric/src/topology/graph.rs",
    "sim/src/config.rs",
    "transport/src/cc/input.rs",
    "transport/src/tcp/config.rs",
    "shuffle/src/job.rs",
    "traffic/src/settings.rs",
    "traffic/src/coflow.rs",
    "traffic/src/rpc/settings.rs",
    "emu/src/job.rs",
    "mine/src/node/costs.rs",
    "mine/src/node/settings.rs",
    "mine/src/quest/mod.rs",
    "mine/src/support.rs",
    "mine/src/work/modelled.rs",
    "walk/src/codel.rs",
    "walk/src/generator.rs",
    "walk/src/graph/generate/blocks.rs",
    "walk/src/loss.rs",
    "walk/src/outbox.rs",
    "walk/src/queue.rs",
    "walk/src/red.rs",
    "walk/src/settings.rs",
    "walk/src/step/rule.rs",
    "farmem/src/cache.rs",
    "farmem/src/local.rs",
    "farmem/src/pager/settings.rs",
)
READ = re.compile(
    r"#\[derive\([^]]*\bDeserialize\b[^]]*\]\n#\[serde\(([^\n]*)\)\]\npub (struct|enum) \w+[^\n]* \{(.*?)\n\}",
    re.DOTALL,
)

WIDE = """\
name: wide
seed: 18446744073709551615
topology: {kind: leaf-spine, leaves: [2, 2], spines: 2}
switch: {buffer: {kind: shared, size: 1MB, reserve: 1kB, cell: 256B}, queue: {kind: step, threshold: 65 packets}}
switch_overrides:
  - {match: leaf0, buffer: {kind: static, limit: 1MB}, queue: {kind: red, min: 10kB, max: 30kB}}
  - match: leaf1
    class_queues: {1: {kind: tail-drop}, 2: {kind: codel}}
    scheduler: {kind: ets, strict: [7], weights: {1: 3}}
  - {match: spine0, buffer: {kind: voq}}
host: {packet_cost: 1us, packet_jitter: 1us, time_slice: 1ms, tcp: {rto_min: [1ms, 2ms]}}
host_overrides:
  - {match: "host[0-1]", tcp: {congestion: dctcp}}
  - {match: host2, tcp: {congestion: reno, ecn: off, sack: false}}
  - {match: host3, tcp: {congestion: htcp, rto_max: min + 1ms}}
  - {match: host0, tcp: {congestion: bbr}}
jobs:
  - {name: a, kind: bulk, pairs: [[host0, host1]], size: 1kB}
  - {name: b, kind: incast, receiver: host0, size: 1kB, class: 7}
  - {name: c, kind: permutation, size: 1kB}
  - {name: d, kind: all-to-all, size: 1kB, order: same}
  - {name: e, kind: load, duration: 10us}
  - {name: f, kind: replay, flows: [{from: host0, to: host1, size: 1kB}]}
  - {name: g, kind: coflows, trace: c.txt}
  - {name: h, kind: background, rate: 1Mbps}
  - {name: i, kind: background, rate: 1Mbps, over: tcp, duration: 1us, pairs: [[host0, host1]]}
  - {name: j, kind: shuffle, size: 1MB, compute: host0, master: host1, data: "host[2-3]", input_replication: 2}
  - name: k
    kind: shuffle
    framework: tez
    size: 1MB
    compute: host0
    master: host1
    data: [host2]
    log_nodes: host3
    log_size: 1kB
    input_replication: 1
  - {name: z, kind: rpc, clients: host0, servers: host1, arrivals: {kind: open, every: 1us}, deadline: 1us}
  - {name: z2, kind: rpc, clients: host0, servers: host1}
  - {name: z3, kind: program, hosts: host0, command: "true", environment: {A: b}, done: started}
  - {name: z4, kind: program, hosts: host1, command: "true", read: {pattern: "(x)", unit: ms}}
  - {name: q, kind: broadcast, source: host0, size: 1MB}
  - {name: r, kind: mine, transactions: {kind: quest, count: 9}, support: 0.5, algorithm: npa, exchange: combined}
  - {name: s, kind: mine, transactions: {kind: file, file: t.txt}, support: 0.5, exchange: frequent, order: rotated}
  - name: t
    kind: mine
    transactions: {kind: profile, count: 9, items: 20, passes: [{large: 0, found: 20}]}
    support: 0.5
    algorithm: hpa-eld
  - {name: l, kind: background, rate: 1Mbps, model: fluid, pairs: [[host0, host1]]}
  - name: m
    kind: walk
    graph: {kind: sbm, sizes: [2, 2, 2, 2], inside: 1, between: 1}
    changes: [{at: 1us, add: [[0, 7]], remove: [[0, 1]]}]
    generation: {sleep: never}
    p: 2
  - {name: n, kind: walk, graph: {kind: edges, file: e.txt}, queue: {kind: tail-drop}, generation: {sleep: always}}
  - name: o
    kind: walk
    graph: {kind: edges, file: e.txt, owners: o.txt}
    length: 3
    queue: {kind: codel}
    generation: {sleep: additive}
    snapshot: 1ms
  - {name: p, kind: walk, graph: {kind: edges, file: e.txt}, generation: {sleep: aimd, under_way: 10}, retry: fresh}
  - name: u
    kind: farmem
    programs: host0
    memory: host1
    local: 50%
    pattern: {kind: trace, file: t.trace}
    write_back: after
    schedule: reads-first
  - name: v
    kind: farmem
    programs: host0
    memory: host1
    local: 8KiB
    pattern: {kind: zipf, size: 64KiB, accesses: 9}
    policy: clock
    schedule: shortest-first
  - name: w
    kind: farmem
    programs: host0
    memory: host1
    local: 8KiB
    pattern: {kind: convolution, matrix: 9}
    policy: lru
  - {name: x, kind: farmem, programs: host0, memory: host1, local: 8KiB, pattern: {kind: random, size: 64KiB, accesses: 9}}
  - name: y
    kind: farmem
    programs: host0
    memory: host1
    local: 8KiB
    pattern: {kind: sequential, size: 64KiB, accesses: 9}
faults:
  - {at: 1us, crash: host3, for: 1us}
  - {at: 1us, slow: {host: host2, speed: 0.5}}
  - {at: 1us, link_down: [leaf0, spine0], for: 1us}
  - {at: 1us, loss: {link: [leaf0, spine0], probability: 0.1}}
  - {at: 1us, corrupt: {link: [leaf0, spine0], probability: 0.1}}
  - {at: 1us, rate: {link: [leaf0, spine0], rate: 1Gbps}}
measure: {interval: 1us, flows: true, capture: ["leaf0:host0"]}
until: 1ms
"""
PFC = """
name: pfc
topology: {kind: single-switch, hosts: 2}
switch:
  scheduler: {kind: ets}
  pfc: {headroom_pool: 1MB, watchdog: {}}
switch_overrides:
  - match: switch0
    pfc: {xoff: {kind: static, limit: 100kB}, watchdog: {action: forward}}
jobs: [{name: c, kind: permutation, size: 1kB}]
faults: [{at: 1us, pause_storm: {host: host0}, for: 1us}]
until: 1ms
"""
CELLS = """
name: cells
topology: {kind: graph, nodes: {a: host, b: host, s: switch, t: switch, u: switch}, links: [
  {ends: [a, s]}, {ends: [b, s]}, {ends: [a, t]}, {ends: [b, t]}, {ends: [a, u]}, {ends: [b, u]}]}
switch: {buffer: {kind: cells}}
switch_overrides:
  - {match: t, buffer: {discard: partial}}
  - {match: u, buffer: {discard: early, threshold: 100}}
jobs: [{name: c, kind: all-to-all, size: 1kB}]
until: 1ms
"""
HEAD = "name: x\njobs: [{name: c, kind: permutation, size: 1kB}]\nuntil: 1ms\n"
SCENARIOS = {
    "wide": WIDE,
    "pfc": PFC,
    "cells": CELLS,
    "single-switch": HEAD + "topology: {kind: single-switch, hosts: 2}",
    "dumbbell": HEAD + "topology: {kind: dumbbell, left: 1, right: 1}",
    "fat-tree": HEAD + "topology: {kind: fat-tree, k: 2}",
    "graph": HEAD + "topology: {kind: graph, nodes: {a: host, b: host, s: switch},"
    " links: [{ends: [a, s]}, {ends: [s, b], back: {rate: 1Gbps}}]}",
    "real": "name: x\njobs: [{name: p, kind: program, hosts: host0, command: 'true'}]\nuntil: 1s\n"
    "topology: {kind: single-switch, hosts: 2}\nclock: {kind: real}\nhost: {tcp: {congestion: reno}}",
    "skip": HEAD + "topology: {kind: single-switch, hosts: 2}\nfidelity: skip",
    "off": HEAD + "host: {tcp: {ecn: passive}}\ntopology: {kind: single-switch, hosts: 2}",
}


def resolved(folder: Path, name: str) -> dict[str, Any]:
    (folder / "c.txt").write_text("3 1\n1 10 2 0 2 1 1:3.0\n")
    (folder / "e.txt").write_text("# four edges\n0 1 1.5\n1 2 1\n2 3 1\n3 0 2\n")
    (folder / "t.txt").write_text("1 2\n2 3\n")
    (folder / "o.txt").write_text("0\n1\n2\n3\n")
    write(folder / "t.trace", scans(8, 2))
    # A program is refused where no kernel is; whether this is one is found out when it runs.
    (folder / "linux").write_text("time-travel=ext: time travel: queues in the page")
    (folder / "linux").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(kernel.VARIABLE, str(folder / "linux"))
        (plan,) = variants(folder, SCENARIOS[name])
    return plan.resolved.spec


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_core_accepts_it(tmp_path: Path, name: str) -> None:
    # The core refuses unknown and missing fields; `plans` asks it.
    assert resolved(tmp_path, name)["name"]


def words(value: object) -> Iterator[str]:
    """All field names and texts."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from words(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from words(inner)
    elif isinstance(value, str):
        yield value


def declared() -> tuple[set[str], set[str]]:
    """Fields and variants of all that a scenario is read as, by their names in JSON."""
    fields: set[str] = set()
    variants: set[str] = set()
    for file in (file for pattern in DECLARED for file in CRATES.glob(pattern)):
        source = re.sub(r"//.*", "", file.read_text("utf-8"))
        # Fields that nobody sets, and those whose own fields take their place.
        source = re.sub(r"^ *#\[serde\((skip|flatten)\b.*\]\n.*\n", "", source, flags=re.MULTILINE)
        for form, kind, body in READ.findall(source):
            fields |= set(re.findall(r"^\s+(?:pub )?([a-z]\w*): ", body, re.MULTILINE))
            names = re.findall(r"^    ([A-Z]\w+)", body, re.MULTILINE) if kind == "enum" else []
            dash = "" if "lowercase" in form else "-"
            variants |= {re.sub(r"(?<!^)([A-Z])", rf"{dash}\1", name).lower() for name in names}
    return fields, variants


def test_every_field_and_variant_is_used(tmp_path: Path) -> None:
    fields, variants = declared()
    assert len(fields) > 200
    assert len(variants) > 70
    seen = {word for name in SCENARIOS for word in words(resolved(tmp_path, name))}
    assert (fields | variants) - seen == set()
