"""The phases of one job, in seconds, from the logs of the daemons and of the application master."""

import re
import statistics
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

STAMP = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) (.*)")
Line = tuple[float, str]


def read(files: Iterable[Path]) -> list[Line]:
    """Lines that begin with a time, in order of it."""
    found = (STAMP.match(line) for file in files for line in file.read_text(errors="replace").splitlines())
    return sorted(
        (datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f").timestamp(), match[2])
        for match in found
        if match
    )


def times(lines: list[Line], pattern: str) -> dict[str, float]:
    """When each first came: by the pattern's group, or by an empty name."""
    found: dict[str, float] = {}
    for time, text in lines:
        if match := re.search(pattern, text):
            found.setdefault(match[1] if match.groups() else "", time)
    return found


def between(starts: dict[str, float], ends: dict[str, float], only: str = "") -> list[float]:
    """How long each took that has a start and an end, and `only` in its name."""
    return [ends[name] - start for name, start in starts.items() if name in ends and only in name]


def middle(values: list[float]) -> float:
    """A median, or not a number."""
    return statistics.median(values) if values else float("nan")


def by_node(app: str, root: Path) -> tuple[list[Line], list[Line]]:
    """What the ResourceManager and the NodeManagers say of a job."""
    number = app.removeprefix("application_")
    master = [line for line in read([root / "logs/resourcemanager-master.log"]) if number in line[1]]
    nodes = [line for line in read((root / "logs").glob("nodemanager-*.log")) if number in line[1]]
    return master, nodes


def first_lines(app: str, root: Path) -> dict[str, float]:
    """When each container's program wrote its first line."""
    found = {}
    for folder in (root / "run").glob(f"n*/userlogs/{app}/container_*"):
        if lines := read([folder / "syslog"]):
            found[folder.name] = lines[0][0]
    return found


def containers(app: str, root: Path, tasks: dict[str, str], given: dict[str, float]) -> dict[str, float]:
    """What the start of a task's container consists of, as medians; `tasks` says whose container is whose."""
    master, nodes = by_node(app, root)
    acquired = times(master, r"(container_\S+) Container Transitioned from ALLOCATED to ACQUIRED")
    asked = times(nodes, r"Start request for (container_\S+) by")
    ready = times(nodes, r"Container (container_\S+) transitioned from LOCALIZING to SCHEDULED")
    running = times(nodes, r"Container (container_\S+) transitioned from SCHEDULED to RUNNING")
    first = first_lines(app, root)
    used = {container: given[task] for task, container in tasks.items() if task in given}
    own: dict[str, float] = {}
    for container, time in used.items():
        own[container] = min(time, own.get(container, time))
    acquired, asked, ready, running, first = (
        {name: time for name, time in part.items() if name in own}
        for part in (acquired, asked, ready, running, first)
    )
    return {
        "container_asked": middle(between(acquired, asked)),
        "container_localised": middle(between(asked, ready)),
        "container_jvm": middle(between(running, first)),
        "container_first_task": middle(between(first, own)),
        "container": middle(between(acquired, own)),
    }


def phases(app: str, root: Path, framework: str) -> dict[str, float]:
    """All phases of a job."""
    master, nodes = by_node(app, root)
    number = app.removeprefix("application_")
    am = f"container_{number}_01_000001"
    (folder,) = (root / "run").glob(f"n*/userlogs/{app}/{am}")
    log = read(folder.glob("syslog*"))
    at = {
        "submitted": times(master, r"to SUBMITTED on event = APP_NEW_SAVED")[""],
        "acquired": times(master, rf"{am} Container Transitioned from ALLOCATED to ACQUIRED")[""],
        "asked": times(nodes, rf"Start request for {am} by")[""],
        "localised": times(nodes, rf"Container {am} transitioned from LOCALIZING to SCHEDULED")[""],
        "running": times(nodes, rf"Container {am} transitioned from SCHEDULED to RUNNING")[""],
        "first_line": first_lines(app, root)[am],
    }
    if framework == "mapreduce":
        started = times(log, r"Transitioned from SETUP to RUNNING$")[""]
        given = times(log, r"JVM with ID.* given task: (attempt_\S+)")
        done = times(log, r"Done acknowledgment from (attempt_\S+)")
        ended = times(log, r"Job Transitioned from COMMITTING to SUCCEEDED")[""]
        # Its client hears of the end when the application master has left.
        over = times(master, r"to FINISHING on event = APP_UPDATE_SAVED")[""]
        tasks = {
            m[1]: m[2]
            for _, text in log
            if (m := re.search(r"\[(attempt_\S+)\] using containerId: \[(\S+) ", text))
        }
        maps, reduces = "_m_", "_r_"
    else:
        started = times(log, r"Event:DAG_STARTED")[""]
        given = times(log, r"Event:TASK_ATTEMPT_STARTED.*taskAttemptId=(\w+)")
        done = times(log, r"Event:TASK_ATTEMPT_FINISHED.*taskAttemptId=(\w+)")
        ended = over = times(log, r"Event:DAG_FINISHED")[""]
        tasks = {
            m[1]: m[2]
            for _, text in log
            if (m := re.search(r"TASK_ATTEMPT_STARTED.*taskAttemptId=(\w+).*containerId=(\w+)", text))
        }
        maps, reduces = "_1_00_", "_1_01_"
    map_given = [time for name, time in given.items() if maps in name]
    map_done = [time for name, time in done.items() if maps in name]
    result = {
        "total": over - at["submitted"],
        "am_wait": at["acquired"] - at["submitted"],
        "am_asked": at["asked"] - at["acquired"],
        "am_localised": at["localised"] - at["asked"],
        "am_jvm": at["first_line"] - at["running"],
        "am_init": started - at["first_line"],
        "first_map_given": min(map_given) - started,
        "all_maps": max(map_done) - min(map_given),
        "map_task": middle(between(given, done, maps)),
        "after_maps": ended - max(map_done),
        "reduce_task": middle(between(given, done, reduces)),
        "committed": ended - max(done.values()),
        "left": over - ended,
        "am_node": float(folder.parts[-4].removeprefix("n")),
        "containers_on_am_node": float(len(list(folder.parent.glob("container_*"))) - 1),
    }
    return result | containers(app, root, tasks, given)
