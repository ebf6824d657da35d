"""Counts request and response turns in captures of compute nodes: who waited how often for an answer.

    python turns.py ROOT JOB ... > turns.csv

ROOT/cap has a capture of every compute node (n1.pcap, ...), JOB is a name of measure.py: `mapreduce-2-0-1`.
A turn is data one way that is followed by data the other way, and a handshake. `out` is asked by the node.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from timeline import read, times

SERVICES = {8020: "namenode", 8030: "scheduler", 8031: "resource tracker", 9866: "datanode", 13562: "shuffle"}
FIELDS = [
    "frame.time_epoch",
    "tcp.stream",
    "ip.src",
    "tcp.srcport",
    "ip.dst",
    "tcp.dstport",
    "tcp.len",
    "tcp.flags.syn",
]


def turns(capture: Path, since: float, until: float, managers: set[int]) -> tuple[Counter[str], Counter[str]]:
    """Turns and connections by service and by who asks: this node (out) or another (in)."""
    command = [
        "tshark",
        "-r",
        capture,
        "-T",
        "fields",
        "-E",
        "separator=,",
        *(a for f in FIELDS for a in ("-e", f)),
    ]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    node = "10.9.0.2" + capture.stem.removeprefix("n")
    count, connections = Counter[str](), Counter[str]()
    last: dict[str, tuple[str, str]] = {}
    for line in output.splitlines():
        time, stream, source, source_port, _, to_port, length, syn = line.split(",")
        if not since <= float(time) <= until:
            continue
        port = int(to_port) if int(to_port) in SERVICES or int(to_port) in managers else int(source_port)
        known = SERVICES.get(port, "node manager" if port in managers else "application master")
        if syn in ("1", "True"):
            if stream not in last:
                name = f"{known} {'out' if source == node else 'in'}"
                last[stream] = (source, name)
                count[name] += 1
                connections[name] += 1
        elif int(length) > 0:
            before = last.get(stream)
            asks = source == node if before is None else before[1].endswith("out")
            name = before[1] if before else f"{known} {'out' if to_port == str(port) else 'in'}"
            if before and before[0] != source and (source == node) != asks:
                count[name] += 1
            last[stream] = (source, name)
    return count, connections


def job(root: Path, name: str) -> None:
    """Prints the turns of one job, between its submission and the end that its client hears of."""
    number = re.search(r"application_(\d+_\d+)", (root / f"logs/job-{name}.log").read_text())[1]  # type: ignore[index]
    logs = (root / "logs").glob("nodemanager-*.log")
    managers = {int(re.search(r"as n\d+:(\d+)", log.read_text())[1]) for log in logs}  # type: ignore[index]
    master = [line for line in read([root / "logs/resourcemanager-master.log"]) if number in line[1]]
    since = times(master, r"to SUBMITTED on event = APP_NEW_SAVED")[""]
    until = times(master, r"State change from FINAL_SAVING to FINISHING")[""]
    am = times(master, rf"Assigned container container_{number}_01_000001 .*on host (n\d+)")
    for capture in sorted(root.glob("cap/n*.pcap")):
        role = "application master" if capture.stem in am else "tasks"
        count, connections = turns(capture, since, until, managers)
        for peer in sorted(count):
            print(f"{name},{capture.stem},{role},{peer},{count[peer]},{connections[peer]}")


def main() -> None:
    """Prints a table."""
    print("job,node,role,peer,turns,connections")
    for name in sys.argv[2:]:
        job(Path(sys.argv[1]), name)


if __name__ == "__main__":
    main()
