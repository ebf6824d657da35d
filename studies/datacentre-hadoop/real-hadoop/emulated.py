"""Real Hadoop on the modelled network: HDFS, YARN and MapReduce, unmodified, on emulated hosts.

    python emulated.py ROOT [--size 30MB] [--clock virtual|real] [--framework mapreduce|tez]
                            [--background 300Mbps] [--choices fast,shallow,deep,ecn,pfc,dctcp] [--seeds 3]
                            [--cpu-rate 10]

The cluster is the study's, scaled down: compute nodes below one leaf switch, data nodes below another, the
management node below a third. TeraGen, TeraSort and TeraValidate run one after the other, and the result
says how long each took. Background traffic comes from simulated hosts, one for each compute node. The same
TeraSort is then simulated, with costs of nothing where computing takes no time. Of the choices, `fast` has
links of 100 Gb/s: what a job takes there is not the network's. Maven brings the jars of `pom.xml` to
ROOT/lib, once. In virtual time it needs the kernel of emulated hosts (`make uml`), on this machine's clock
root.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml
from settings import DAEMONS, FRAMEWORKS, HEAP, JAVA_OPTIONS, Settings

import incast
from incast import text
from incast.quantity import parse_bytes
from incast.samples import by_choice

HERE = Path(__file__).resolve().parent
COMPUTE, DATA, SLOTS = 3, 2, 3
MASTER = f"host{COMPUTE + DATA}"
COMPUTE_NODES, DATA_NODES = f"host[0-{COMPUTE - 1}]", f"host[{COMPUTE}-{COMPUTE + DATA - 1}]"
REDUCES = 4
BLOCK = 8 << 20
ROW = 100
"""Bytes of a row of TeraGen."""
MARKS = {"queue": {"kind": "step", "threshold": "60kB"}}
LINK, UPLINK = ({"rate": rate, "delay": "1us"} for rate in ("1Gbps", "4Gbps"))
LOSSLESS = {
    "buffer": {"kind": "shared", "size": "1500kB"},
    "scheduler": {"kind": "ets"},
    "pfc": {
        "classes": [0],
        "xoff": {"kind": "static", "limit": "60kB"},
        "xon": "40kB",
        "headroom": "20kB",
    },
}
CHOICES: dict[str, dict[str, Any]] = {
    "fast": {"topology": {"host_link": {"rate": "100Gbps"}, "uplink": {"rate": "100Gbps"}}},
    "shallow": {},
    "deep": {"switch": {"buffer": {"kind": "static", "limit": "40MB"}}},
    "ecn": {"switch": MARKS, "host": {"tcp": {"ecn": "on"}}},
    "pfc": {"switch": LOSSLESS},
    "dctcp": {"switch": MARKS, "host": {"tcp": {"congestion": "dctcp"}}},
}
NOTHING = {
    "map_rate": "100GB/s",
    "sort_rate": "100GB/s",
    "merge_rate": "100GB/s",
    "reduce_rate": "100GB/s",
    "job_submit": "0s",
    "master_start": "0s",
    "container_start": "0s",
    "task_setup": "0s",
    "task_commit": "0s",
    "job_commit": "0s",
    "assignments": 1,
}
"""What computing costs where it takes no time: what is left is the network, calls and heartbeats.

CapacityScheduler gives a node's heartbeat one container for a reduce
(`yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments`).
"""
SUBMITTED = re.compile(r"^(\S+ \S+) .*application_\S+_0002 State change from NEW to NEW_SAVING", re.MULTILINE)
UNREGISTERED = re.compile(r"^(\S+ \S+) .*application_\S+_0002 unregistered successfully", re.MULTILINE)
"""TeraSort, which comes after TeraGen, in the ResourceManager's log."""


@dataclass(frozen=True)
class Asked:
    """What is to run."""

    root: Path
    size: int
    """Bytes that are sorted."""
    real: bool
    framework: str
    background: str | None
    """Rate towards each compute node."""
    choices: list[str]
    seeds: int
    cpu_rate: float | None


def main() -> None:
    """Gets Hadoop, runs it and its model, and shows both."""
    parser = argparse.ArgumentParser(description="Real Hadoop on the modelled network.")
    parser.add_argument("root", type=Path)
    parser.add_argument("--size", default="30MB", help="of the data that are sorted")
    parser.add_argument("--clock", choices=["virtual", "real"], default="virtual")
    parser.add_argument("--framework", choices=["mapreduce", "tez"], default="mapreduce")
    parser.add_argument("--background", metavar="RATE", help="towards each compute node")
    parser.add_argument("--choices", default=",".join(CHOICES))
    parser.add_argument("--seeds", type=int, default=1, help="of each choice")
    parser.add_argument("--cpu-rate", type=float, help="of the hosts' processors: computing takes time")
    given = parser.parse_args()
    root = given.root.resolve()
    asked = Asked(
        root,
        parse_bytes(given.size),
        given.clock == "real",
        given.framework,
        given.background,
        given.choices.split(","),
        given.seeds,
        given.cpu_rate,
    )
    jars(asked.root)
    folder = "/tmp/hadoop"
    Settings(MASTER, folder, "${env.RT_HOST:-any}", DATA, SLOTS, container_mb=512, block=BLOCK).write(
        asked.root
    )
    hadoop, ours = ran(asked, "hadoop", programs(asked)), ran(asked, "model", model(asked))
    print(f"\n{'choice':10} {'client':>26} {'Hadoop':>26} {'model':>26}")
    for choice in asked.choices:
        figures = (
            [client(run) for run in hadoop[choice]],
            [application(run) for run in hadoop[choice]],
            [modelled(run) for run in ours[choice]],
        )
        print(f"{choice:10}", *(f"{shown(each):>26}" for each in figures))


def jars(root: Path) -> None:
    """Hadoop's jars; Maven gets them when they are not there."""
    if any((root / "lib").glob("hadoop-common-*.jar")):
        return
    if not shutil.which("mvn"):
        raise SystemExit("Hadoop comes by Maven, and there is no mvn: apt-get install maven")
    root.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "pom.xml", root)
    command = ["mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies"]
    subprocess.run(
        [*command, "-DincludeScope=runtime", f"-DoutputDirectory={root / 'lib'}"], cwd=root, check=True
    )


def shown(times: Sequence[float | None]) -> str:
    """A time of each seed: their mean, and the least and greatest."""
    known = [each for each in times if each is not None]
    if len(known) < len(times):
        return f"{len(times) - len(known)} of {len(times)} did not end"
    mean = text.time(fmean(known))
    return mean if len(known) == 1 else f"{mean} ({text.time(min(known))} to {text.time(max(known))})"


def ran(asked: Asked, name: str, jobs: list[dict[str, Any]]) -> dict[str, list[incast.Result]]:
    """Runs a scenario: the results of each choice, one a seed."""
    scenario, out = asked.root / f"{name}.yaml", asked.root / name
    scenario.write_text(yaml.safe_dump(described(asked, jobs), sort_keys=False))
    command = [sys.executable, "-m", "incast", "run", str(scenario), "--out", str(out), "--force"]
    if asked.seeds > 1:
        command += ["--seeds", str(asked.seeds)]
    if (code := subprocess.run(command, check=False).returncode) not in (0, 8):
        raise SystemExit(code)
    return by_choice(incast.Result.open(out).runs)


def client(run: incast.Result) -> float | None:
    """How long the client of TeraSort took, in picoseconds. It looks once a second."""
    return run.summary["jobs"]["terasort"]["read_p50_ps"]


def application(run: incast.Result) -> float | None:
    """How long TeraSort took by the log of the ResourceManager, in picoseconds."""
    log = (run.path / "guests" / MASTER / "resourcemanager.out").read_text()
    if not ((begin := SUBMITTED.search(log)) and (end := UNREGISTERED.search(log))):
        return None
    begin, end = (datetime.strptime(each[1], "%Y-%m-%d %H:%M:%S,%f") for each in (begin, end))
    return (end - begin) / timedelta(microseconds=1) * 1e6


def modelled(run: incast.Result) -> float | None:
    """How long the model's TeraSort took, in picoseconds."""
    return run.summary["jobs"]["terasort"]["duration_ps"]


def described(asked: Asked, jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """The scenario: one network for both."""
    is_real = asked.real and jobs[0]["kind"] == "program"
    others = background(asked)
    clock = {"clock": {"kind": "real"}} if is_real else {}
    return {
        "name": "hadoop",
        "description": f"TeraSort of {text.size(asked.size)} on Hadoop",
        "topology": {
            "kind": "leaf-spine",
            "leaves": [COMPUTE, DATA, 1 + COMPUTE * len(others)],
            "spines": 2,
            "host_link": LINK,
            "uplink": UPLINK,
        },
        "switch": {"buffer": {"kind": "static", "limit": "300kB"}},
        "host": {
            "kernel": {
                "memory": "1536MiB",
                "moderation": "0s" if asked.real else "20us",
                "patience": "900s",
                "cpu_rate": asked.cpu_rate,
            },
            "tcp": {"congestion": "reno" if asked.real else "cubic"},
        },
        "jobs": [*jobs, *others],
        "until": "900s",
        **clock,
        "choices": {choice: CHOICES[choice] for choice in asked.choices},
    }


def background(asked: Asked) -> list[dict[str, Any]]:
    """Datagrams from simulated hosts, next to the management node, to the compute nodes."""
    if not asked.background:
        return []
    pairs = [[f"host{COMPUTE + DATA + 1 + number}", f"host{number}"] for number in range(COMPUTE)]
    return [{"name": "other", "kind": "background", "rate": asked.background, "pairs": pairs}]


def programs(asked: Asked) -> list[dict[str, Any]]:
    """Hadoop's own."""
    found = shutil.which("java")
    if not found:
        raise SystemExit("Hadoop needs Java, and there is none: apt-get install openjdk-17-jre-headless")
    home = Path(found).resolve().parents[1]
    java = f"{home}/bin/java {HEAP} -XX:-UsePerfData -cp '{asked.root}/conf:{asked.root}/lib/*'"
    environment = {
        "JAVA_HOME": str(home),
        "JDK_JAVA_OPTIONS": JAVA_OPTIONS,
        "HADOOP_CONF_DIR": f"{asked.root}/conf",
        "HADOOP_USER_NAME": "root",
    }
    # Where computing takes no time, all is up within some heartbeats.
    up, begin = (20, 60) if asked.real else (3, 15)

    def job(name: str, hosts: str, command: str, start: int, **more: object) -> dict[str, Any]:
        named = f"export RT_HOST=$(cat /proc/sys/kernel/hostname); {command}"
        what = {"name": name, "kind": "program", "hosts": hosts, "command": named, "start": f"{start}s"}
        return {**what, "environment": environment, **more}

    def daemon(name: str, hosts: str, start: int, before: str = "") -> dict[str, Any]:
        return job(name, hosts, f"{before}exec {java} {DAEMONS[name]}", start, done="started")

    tera = f"{java} org.apache.hadoop.examples.terasort"
    timed = (
        'took() { name=$1; shift; begun=$(date +%s%N); "$@" || exit; '
        'echo "took $name $(( ($(date +%s%N) - begun) / 1000000 )) ms"; }; '
    )
    maps = -(-asked.size // BLOCK)
    client = (
        f"took teragen {tera}.TeraGen -Dmapreduce.job.maps={maps} {asked.size // ROW} /in; "
        f"took terasort {tera}.TeraSort -Dmapreduce.framework.name={FRAMEWORKS[asked.framework]} "
        f"-Dmapreduce.job.reduces={REDUCES} /in /out; "
        f"took teravalidate {tera}.TeraValidate /out /checked"
    )
    return [
        daemon("namenode", MASTER, 0, f"{java} {DAEMONS['namenode']} -format -force && "),
        daemon("resourcemanager", MASTER, 0),
        daemon("datanode", DATA_NODES, up),
        daemon("nodemanager", COMPUTE_NODES, up),
        job(
            "terasort",
            MASTER,
            timed + client,
            begin,
            read={"pattern": "^took terasort ([0-9]+) ms", "unit": "ms"},
        ),
    ]


def model(asked: Asked) -> list[dict[str, Any]]:
    """The same TeraSort, simulated."""
    return [
        {
            "name": "terasort",
            "kind": "shuffle",
            "framework": asked.framework,
            "size": f"{asked.size}B",
            "block": f"{BLOCK}B",
            "master": MASTER,
            "compute": COMPUTE_NODES,
            "data": DATA_NODES,
            # One container is the application master's.
            "slots": SLOTS,
            "reduces": REDUCES,
            "input_replication": DATA,
            "costs": {} if asked.real else NOTHING,
        }
    ]


if __name__ == "__main__":
    main()
