"""What was run, and what the choices differ in: the scenario's fields and the summary's, side by side."""

import re
from collections.abc import Iterable
from typing import Any

from incast import metrics, text
from incast.lab.scenario import Scenario
from incast.metric import Metric
from incast.report.load import Report
from incast.report.parts import Cell, Table, cells, more_than
from incast.report.quantities import told
from incast.report.run import Run

ROWS_MAX = 60
# A field of one of several hosts or switches.
_ONE_OF = re.compile(r"(hosts|switches)\[(.*?)\](?:\.config)?\.(.*)")
# Of the summary, what the report shows elsewhere, and what depends on the machine.
_ELSEWHERE = {
    "incomplete",
    "jobs",
    "flows",
    "ports",
    "thresholds",
    "name",
    "description",
    "choice",
    "seed",
    "wall_s",
}


def facts(report: Report) -> Table:
    """Scenario, seeds, version, fingerprint and what else the summary says of the run."""
    keyed = [_facts(runs) for runs in report.choices]
    return _side_by_side("Facts of the run", "Fact", report.runs, keyed, only_different=False)


def settings(runs: tuple[Run, ...]) -> Table:
    """The fields of the scenario in which the choices differ."""
    keyed = [
        dict(_flat(told({k: v for k, v in run.scenario.items() if k != "name"}, (Scenario,)))) for run in runs
    ]
    return _side_by_side("What the choices set", "Field", runs, _gathered(keyed), only_different=True)


def _gathered(keyed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fields of hosts, of switches that have the same values under one name: `hosts[host0, host1].mtu`."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for key in dict.fromkeys(key for fields in keyed for key in fields):
        found = _ONE_OF.fullmatch(key)
        values = tuple(repr(fields.get(key)) for fields in keyed)
        alike.setdefault((*(found.group(1, 3) if found else (key,)), *values), []).append(key)
    called = {keys[0]: _gathered_name(keys) for keys in alike.values()}
    return [{name: fields[key] for key, name in called.items() if key in fields} for fields in keyed]


def _gathered_name(keys: list[str]) -> str:
    found = [each for key in keys if (each := _ONE_OF.fullmatch(key))]
    if not found:
        return keys[0]
    names = [each[2] for each in found]
    said = ", ".join(names) if len(names) < 4 else f"{names[0]}, {names[1]} … {names[-1]}"
    return f"{found[0][1]}[{said}].{found[0][3]}"


def thresholds(runs: tuple[Run, ...]) -> Table:
    """Whether each threshold held, in each run."""
    stated = dict.fromkeys(each for run in runs for each in _verdicts(run))
    rows = [(Cell(each), *(_verdict(each, _verdicts(run).get(each)) for run in runs)) for each in stated]
    columns = ("Threshold", *(r.name if len(runs) > 1 else "Result" for r in runs))
    return Table("Thresholds", columns, tuple(rows))


def _verdicts(run: Run) -> dict[str, dict[str, Any]]:
    listed = run.summary.get("thresholds")
    found = [v for v in listed if isinstance(v, dict)] if isinstance(listed, list) else []
    return {str(verdict.get("text")): verdict for verdict in found}


def _verdict(stated: str, verdict: dict[str, Any] | None) -> Cell:
    if verdict is None:
        return Cell(text.NONE)
    figure = re.match(r"[\w.-]*", stated.strip())
    found = metrics.find(figure[0]) if figure else None
    measured = _shown(found[1].key if found else "", verdict.get("value"))
    if verdict.get("holds"):
        return Cell("holds", measured)
    return Cell("FAILS", str(verdict.get("why") or measured), "bad")


def _facts(runs: tuple[Run, ...]) -> dict[str, Any]:
    first = runs[0]
    topology = first.scenario.get("topology")
    return {
        "scenario": first.summary.get("name") or first.scenario.get("name"),
        "seed": ", ".join(str(run.seed) for run in runs) if first.summary or first.scenario else None,
        "topology": topology.get("kind") if isinstance(topology, dict) else None,
        **dict(_flat({k: v for k, v in first.summary.items() if k not in _ELSEWHERE})),
    }


def _side_by_side(
    caption: str,
    head: str,
    runs: tuple[Run, ...],
    keyed: list[dict[str, Any]],
    only_different: bool,
) -> Table:
    keys = list(dict.fromkeys(key for fields in keyed for key in fields))
    rows = []
    for key in keys:
        values = [fields.get(key) for fields in keyed]
        shown = [_shown(key, value) for value in values]
        if only_different and len(set(shown)) == 1:
            continue
        rows.append(cells(_label(key, values), *shown))
    columns = (head, *(r.name if len(runs) > 1 else "Value" for r in runs))
    more = more_than(len(rows), "field", ROWS_MAX)
    return Table(caption, columns, tuple(rows[:ROWS_MAX]), frozenset(columns[1:]), more)


def _listed(path: str) -> bool:
    """Whether a list is told by its length even when it is short."""
    return path.endswith(("pairs", "scheduler.weights"))


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Paths and single values of nested data; long lists are told by their length."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "pattern":
                yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and len(value) <= 16 and not _listed(path):
        for index, inner in enumerate(value):
            called = inner.get("pattern", index) if isinstance(inner, dict) else index
            yield from _flat(inner, f"{path}[{called}]")
    elif isinstance(value, list):
        yield path, f"{len(value)} entries" if value else "none"
    else:
        yield path, value


def _shown(key: str, value: Any) -> str:
    """A value; the name of a figure carries its unit."""
    if value is None:
        return text.NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    figure = _figure(key)
    return figure.text(value) if figure.unit and isinstance(value, int | float) else str(value)


def _label(key: str, values: Iterable[Any]) -> str:
    """The name of a figure, without the unit that its values carry."""
    told = any(isinstance(value, int | float) for value in values)
    return key.removesuffix(_figure(key).unit) if told else key


def _figure(key: str) -> Metric:
    return Metric(f"_{key.rsplit('.', 1)[-1]}", key)
