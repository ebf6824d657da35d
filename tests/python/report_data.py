"""Run folders made up for the report's tests: the tables of crates/record with plausible figures."""

import json
import math
import random
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import polars as pl

from incast.folder import RESOLVED, SUMMARY

US, MS = 10**6, 10**9
COMPRESSION: Literal["snappy"] = "snappy"
"""That of the tables of a run."""
Link = tuple[str, str, int]
TASKS = {
    "task": pl.Int64,
    "job": pl.String,
    "host": pl.String,
    "kind": pl.String,
    "number": pl.Int64,
    "start_ps": pl.Int64,
    "end_ps": pl.Int64,
    "bytes": pl.Int64,
    "outcome": pl.String,
}
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Behaviour:
    """How a made-up run goes."""

    queue_bytes: int = 2_000_000
    drop_part: float = 0.0
    mark_part: float = 0.0
    timeout_part: float = 0.0
    slower: float = 1.0


DEEP = Behaviour(queue_bytes=31_000_000, slower=1.2)
SHALLOW = Behaviour(drop_part=0.004, timeout_part=0.02, slower=1.35)
CUBIC = Behaviour(queue_bytes=900_000, mark_part=0.02, drop_part=0.0004, timeout_part=0.002, slower=1.1)
DCTCP = Behaviour(queue_bytes=150_000, mark_part=0.12)


def leaf_spine(leaves: int, hosts: int, spines: int, parallel: int = 1) -> list[Link]:
    """Links of a leaf–spine: hosts at 25, uplinks at 100 Gb/s."""
    up = [
        (f"leaf{leaf}", f"spine{s}", 100_000_000_000)
        for leaf in range(leaves)
        for s in range(spines)
        for _ in range(parallel)
    ]
    down = [(f"host{h}", f"leaf{h // hosts}", 25_000_000_000) for h in range(leaves * hosts)]
    return up + down


def dumbbell(side: int) -> list[Link]:
    """Two switches with a slow link between them."""
    left = [(f"left{i}", "switch0", 10_000_000_000) for i in range(side)]
    right = [(f"right{i}", "switch1", 10_000_000_000) for i in range(side)]
    return [*left, *right, ("switch0", "switch1", 1_000_000_000)]


def fat_tree(k: int) -> list[Link]:
    """The three-tier fat tree."""
    half, links = k // 2, []
    for pod in range(k):
        for e in range(half):
            edge = f"edge{pod * half + e}"
            links += [(f"host{(pod * half + e) * half + h}", edge, 25 * 10**9) for h in range(half)]
            links += [(edge, f"agg{pod * half + a}", 25 * 10**9) for a in range(half)]
        for a in range(half):
            links += [(f"agg{pod * half + a}", f"core{a * half + c}", 25 * 10**9) for c in range(half)]
    return links


def ring(switches: int, hosts: int) -> list[Link]:
    """Switches in a ring, each with hosts: links within a tier."""
    links = [(f"s{i}", f"s{(i + 1) % switches}", 40 * 10**9) for i in range(switches)]
    return links + [(f"h{i}-{j}", f"s{i}", 10 * 10**9) for i in range(switches) for j in range(hosts)]


def write_run(
    folder: Path,
    behaviour: Behaviour = DCTCP,
    links: list[Link] | None = None,
    flows: int = 400,
    seed: int = 1,
    name: str = "shuffle",
    samples: int = 500,
) -> Path:
    """Writes a run folder and returns it."""
    rng = random.Random(seed)
    links = leaf_spine(4, 4, 2) if links is None else links
    switches = {b for _, b, _ in links}
    hosts = sorted({a for a, _, _ in links} - switches)
    flow_rows = _flows(rng, hosts, flows, behaviour)
    end = max((f["end_ps"] or 0 for f in flow_rows), default=0) or 10 * MS
    port_rows = _ports(rng, links, hosts, behaviour, end)
    hot = sorted(port_rows, key=lambda p: -p["queue_max_bytes"])[:4]
    write_table(folder, "flows", flow_rows)
    write_table(folder, "ports", port_rows)
    write_table(folder, "jobs", _jobs(flow_rows, end))
    write_table(folder, "tasks", pl.DataFrame(schema=TASKS))
    write_table(folder, "waits", _waits(rng, port_rows))
    write_table(folder, "ports_series", _series(rng, hot, behaviour, end, samples))
    write_table(folder, "flows_series", _windows(flow_rows[:6], end))
    write_table(folder, "hosts", [{"host": host, "drops_loopback": 0} for host in hosts])
    write_table(folder, "hosts_series", _traffic(hosts, end, samples))
    write_table(
        folder,
        "events",
        [
            {"time_ps": 3 * MS, "what": "link-down", "where": "leaf0:spine0"},
            {"time_ps": 5 * MS, "what": "link-up", "where": "leaf0:spine0"},
        ],
    )
    write_table(
        folder,
        "datagrams",
        [
            {
                "job": "noise",
                "from": hosts[0],
                "to": hosts[-1],
                "sent_packets": 10_000,
                "sent_bytes": 14_720_000,
                "received_packets": 9_950,
                "received_bytes": 14_646_400,
            },
        ],
    )
    summary = {
        "name": name,
        "seed": seed,
        "version": "0.1.0",
        "fingerprint": "9f3c2a17be55d001",
        "ended": "finished",
        "end_ps": end,
    }
    scenario = {
        "name": name,
        "seed": seed,
        "topology": {"kind": "leaf-spine"},
        "switches": [
            {"pattern": "*", "config": {"buffer": {"kind": "shared", "size": behaviour.queue_bytes * 2}}}
        ],
    }
    (folder / SUMMARY).write_text(json.dumps(summary))
    (folder / RESOLVED).write_text(json.dumps(scenario))
    return folder


def write_pauses(folder: Path, storms: int = 2) -> None:
    """Turns a run into one with PFC: hosts' ports paused, switch ports that ask for it, a storm."""
    ports = pl.read_parquet(folder / "ports")
    host = pl.col("kind").cast(pl.String) == "host"
    ports = ports.with_columns(
        drops_headroom=pl.when(host).then(0).otherwise(3),
        in_discards=pl.when(host).then(0).otherwise(3),
        pause_sent=pl.when(host).then(0).otherwise(40),
        pause_received=pl.when(host).then(40).otherwise(0),
        paused_ps=pl.when(host).then(2 * MS).otherwise(0),
    )
    ports.write_parquet(folder / "ports" / "part-00000.parquet", compression=COMPRESSION)
    hot = next(iter(pl.read_parquet(folder / "ports_series")["port"].cast(pl.String)))
    pause = {
        "port": hot,
        "class": 3,
        "paused_ps": 2 * MS,
        "storms": storms,
        "restored": storms,
        "storm_drops": 7,
    }
    write_table(folder, "pauses", [pause])
    series = pl.read_parquet(folder / "ports_series").with_columns(
        in_discards=pl.lit(1),
        out_discards=pl.col("drops"),
        pause_sent=pl.lit(2),
        pause_received=pl.lit(0),
        paused_ps=pl.col("time_ps").diff().clip(0, None).fill_null(0).over("port") // 4,
    )
    series.write_parquet(folder / "ports_series" / "part-00000.parquet", compression=COMPRESSION)
    found = [{"time_ps": 2 * MS + i, "what": "pfc-storm", "where": f"{hot} class 3"} for i in range(storms)]
    write_table(folder, "events", found)


def write_tasks(
    folder: Path,
    compute: int = 4,
    slots: int = 4,
    maps: int = 40,
    reduces: int = 8,
    stuck: int = 0,
    seed: int = 1,
    slower: float = 1.0,
) -> int:
    """Adds the tasks of a made-up TeraSort to a run, and its flows; returns when it ended.

    Maps on slots, reduces that fetch from all maps' hosts; the last `stuck` reduces do not end.
    """
    rng = random.Random(seed)
    hosts = [f"compute{i}" for i in range(compute)]
    free = {(host, slot): 0 for host in hosts for slot in range(slots)}
    tasks: Rows = []
    flows: Rows = []

    def add(kind: str, number: int, host: str, start: int, took: int, sources: list[str], size: int) -> int:
        task = len(tasks) + 1
        tasks.append(
            {
                "task": task,
                "job": "terasort",
                "host": host,
                "kind": kind,
                "number": number,
                "start_ps": start,
                "end_ps": start + took,
                "bytes": size,
                "outcome": "finished",
            }
        )
        for source in sources:
            at = start + rng.randrange(max(took // 2, 1))
            flows.append(
                _task_flow(rng, len(flows), task, (source, host), at, start + took, size // len(sources))
            )
        return start + took

    for number in range(maps):
        host, slot = min(free, key=lambda place: (free[place], place))
        took = int(800 * MS * rng.uniform(0.8, 1.4) * slower)
        free[host, slot] = add("map", number, host, free[host, slot], took, [f"data{number % 3}"], 64_000_000)
    half = sorted(free.values())[0] * 6 // 10
    for number in range(reduces):
        host, slot = min(free, key=lambda place: (free[place], place))
        start = max(half, free[host, slot])
        fetch, sort = int(900 * MS * slower), int(150 * MS)
        whole = fetch + sort + int(500 * MS * rng.uniform(0.8, 1.2))
        free[host, slot] = add("reduce", number, host, start, whole, [], 10**6)
        fetched = add("shuffle", number, host, start, fetch, hosts, 128_000_000)
        add("sort", number, host, fetched, sort, [], 128_000_000)
        if number >= reduces - stuck:
            del tasks[-1]
            for task in tasks[-2:]:
                task |= {"end_ps": None, "outcome": "unfinished"}
            flows[-1] |= {"end_ps": None, "outcome": "unfinished"}
    end = max(task["end_ps"] or 0 for task in tasks)
    write_table(folder, "tasks", tasks)
    write_table(folder, "flows", flows)
    job = {"job": "terasort", "kind": "shuffle", "start_ps": 0, "flows": len(flows), "bytes": 0}
    outcome = "unfinished" if stuck else "finished"
    write_table(folder, "jobs", [job | {"end_ps": None if stuck else end, "outcome": outcome}])
    return end


def _task_flow(
    rng: random.Random, flow: int, task: int, ends: tuple[str, str], start: int, end: int, size: int
) -> dict[str, Any]:
    return {
        "flow": flow,
        "job": "terasort",
        "group": task,
        "from": ends[0],
        "to": ends[1],
        "class": 0,
        "bytes": size,
        "start_ps": start,
        "end_ps": rng.randrange(start, end),
        "retransmits": int(rng.random() < 0.1),
        "timeouts": 0,
        "srtt_ps": 30 * US,
        "outcome": "finished",
    }


def write_choices(folder: Path, **options: Any) -> Path:
    """The main job's four switch choices."""
    behaviours = {"deep": DEEP, "shallow": SHALLOW, "shallow-ecn-cubic": CUBIC, "shallow-ecn-dctcp": DCTCP}
    for name, behaviour in behaviours.items():
        write_run(folder / name, behaviour, **options)
    listed = [{"name": name, "folder": name, "runs": [name]} for name in behaviours]
    (folder / SUMMARY).write_text(json.dumps({"name": "shuffle", "choices": listed}))
    return folder


def write_table(folder: Path, name: str, rows: Rows | pl.DataFrame, part: int = 0) -> None:
    """Writes rows as a part of a table; no rows, an empty part."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    frame = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, infer_schema_length=None)
    text = [c for c in frame.columns if frame[c].dtype == pl.String]
    frame.with_columns(pl.col(text).cast(pl.Categorical)).write_parquet(
        folder / name / f"part-{part:05}.parquet", compression=COMPRESSION
    )


def _flows(rng: random.Random, hosts: list[str], count: int, behaviour: Behaviour) -> Rows:
    rows: Rows = []
    for number in range(count):
        source, target = rng.sample(hosts, 2) if len(hosts) > 1 else (hosts[0], hosts[0])
        size = int(10 ** rng.uniform(4, 7))
        late = rng.random() < behaviour.timeout_part
        took = int((30 * US + size * 400 * rng.uniform(1, 3)) * behaviour.slower) + (200 * MS if late else 0)
        start = rng.randrange(5 * MS)
        rows.append(
            {
                "flow": number,
                "job": "shuffle" if number % 4 else "query",
                "group": number // 20,
                "from": source,
                "to": target,
                "class": 0,
                "bytes": size,
                "start_ps": start,
                "end_ps": start + took,
                "sent_packets": size // 1448 + 3,
                "sent_bytes": size,
                "retransmits": 3 if late else 0,
                "timeouts": int(late),
                "fast_recoveries": 0,
                "tail_loss_probes": 0,
                "ece_acks": 0,
                "min_rtt_ps": 8 * US,
                "srtt_ps": int(8 * US + rng.random() * 60 * US),
                "outcome": "finished",
            }
        )
    return rows


def _windows(flows: Rows, end: int) -> Rows:
    return [
        {
            "time_ps": i * end // 50,
            "flow": flow["flow"],
            "cwnd_bytes": 14_480 * (1 + i % 10),
            "in_flight_bytes": 14_480,
            "srtt_ps": (10 + 8 * (i % 11)) * US if i else None,
            "acked_bytes": 14_480 * i,
        }
        for flow in flows
        for i in range(50)
    ]


def _traffic(hosts: list[str], end: int, samples: int) -> pl.DataFrame:
    step = end // max(samples, 1)
    times = pl.DataFrame({"time_ps": [(i + 1) * step for i in range(samples)]}, schema={"time_ps": pl.Int64})
    return times.join(pl.DataFrame({"host": hosts}), how="cross").with_columns(
        sent_bytes=pl.lit(step * 200 // 10**6),
        received_bytes=pl.lit(step * 300 // 10**6),
        core_busy_ps=pl.lit(0),
        disk_busy_ps=pl.lit(0),
    )


def _jobs(flows: Rows, end: int) -> Rows:
    if not flows:
        job = {"job": "shuffle", "kind": "coflows", "start_ps": 0, "end_ps": end, "flows": 0, "bytes": 0}
        return [job | {"outcome": "finished"}]
    rows: Rows = [
        {
            "job": job,
            "kind": kind,
            "start_ps": 0,
            "end_ps": max((f["end_ps"] for f in flows if f["job"] == job), default=end),
            "flows": sum(f["job"] == job for f in flows),
            "bytes": sum(f["bytes"] for f in flows if f["job"] == job),
            "outcome": "finished",
        }
        for job, kind in (("shuffle", "coflows"), ("query", "incast"))
    ]
    return [
        *rows,
        {
            "job": "noise",
            "kind": "background",
            "start_ps": 0,
            "end_ps": None,
            "flows": 0,
            "bytes": 0,
            "outcome": "finished",
        },
    ]


def _ports(rng: random.Random, links: list[Link], hosts: list[str], behaviour: Behaviour, end: int) -> Rows:
    rows: Rows = []
    lanes: dict[tuple[str, str], int] = {}
    for a, b, rate in links:
        lane = lanes[a, b] = lanes.get((a, b), 0) + 1
        for node, peer in ((a, b), (b, a)):
            load = rng.random() ** 2
            hot = load > 0.8 and node not in hosts
            sent = int(load * end / 1e12 * rate / 8 / 1500)
            queue = int(behaviour.queue_bytes * rng.uniform(0.4, 1)) if hot else int(20_000 * load)
            wait = int(queue * 8e12 / rate)
            rows.append(
                {
                    "port": f"{node}:{peer}" + (f"#{lane}" if lane > 1 else ""),
                    "node": node,
                    "peer": peer,
                    "kind": "host" if node in hosts else "switch",
                    "rate_bps": rate,
                    "sent_packets": sent,
                    "sent_bytes": sent * 1500,
                    "wire_bytes": sent * 1538,
                    "busy_ps": int(load * end),
                    "utilisation": load,
                    "enqueued_packets": sent,
                    "in_discards": 0,
                    "out_discards": int(sent * behaviour.drop_part) if hot else 0,
                    "drops_tail": 0,
                    "drops_early": 0,
                    "drops_pool": int(sent * behaviour.drop_part) if hot else 0,
                    "drops_mtu": 0,
                    "drops_down": 0,
                    "pause_sent": 0,
                    "lost": 0,
                    "corrupted": 0,
                    "marks": int(sent * behaviour.mark_part) if hot else 0,
                    "queue_max_bytes": queue,
                    "queue_max_packets": queue // 1500,
                    "wait_p50_ps": wait // 4,
                    "wait_p99_ps": wait * 9 // 10,
                    "wait_p999_ps": wait,
                    "wait_max_ps": wait,
                }
            )
    return rows


def _waits(rng: random.Random, ports: Rows) -> Rows:
    rows: Rows = []
    for port in ports:
        top = max(port["wait_max_ps"], 1000)
        edges = [int(top * (i / 40) ** 2) for i in range(41)]
        for low, high in pairwise(edges):
            packets = int(port["sent_packets"] * rng.random() / 25)
            if packets and high > low:
                rows.append(
                    {"port": port["port"], "class": 0, "from_ps": low, "to_ps": high, "packets": packets}
                )
    return rows


def _series(rng: random.Random, ports: Rows, behaviour: Behaviour, end: int, samples: int) -> Rows:
    rows: Rows = []
    for number, port in enumerate(ports):
        for i in range(samples):
            wave = max(0.0, math.sin(i / samples * 9 + number)) * rng.uniform(0.7, 1)
            queue = int(port["queue_max_bytes"] * wave)
            full = wave > 0.97
            rows.append(
                {
                    "time_ps": i * end // samples,
                    "port": port["port"],
                    "class": None,
                    "queue_bytes": queue,
                    "queue_packets": queue // 1500,
                    "sent_bytes": 40_000,
                    "drops": rng.randrange(4) if full and behaviour.drop_part else 0,
                    "marks": rng.randrange(9) if wave > 0.8 and behaviour.mark_part else 0,
                }
            )
    return rows
