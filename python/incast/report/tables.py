"""The report's tables as text, ready for the page. Computes no new figures."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from incast.report import text
from incast.report.answer import best, difference, ranked, value
from incast.report.load import Run
from incast.report.measures import (
    DROPS,
    Figures,
    Measure,
    foreground_flows,
    waiting_by_port,
)

ROWS_MAX = 10
FACTS_MAX = 60
COLUMNS_MAX = 5
"""Up to so many choices stand side by side; more stand below each other."""


@dataclass(frozen=True)
class Cell:
    """A cell; `note` stands small below the text."""

    text: str
    note: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first column heads its rows, `left` names the other columns of words."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    left: frozenset[str] = frozenset()
    more: str = ""
    """What the table leaves out."""


def choices(figures: list[Figures], measures: list[Measure]) -> Table:
    """All choices by all measures, the best marked, the others' distance from it."""
    order = ranked(figures, measures[0].key) if measures else figures
    winners = {m.key: best(figures, m) for m in measures}
    least = {m.key: _least(figures, m, winners[m.key]) for m in measures}
    rows = []
    for run in order:
        cells = [Cell(run.name)]
        for m in measures:
            figure, wins = run.values[m.key], run.name in winners[m.key]
            apart = "" if wins or not m.compared else difference(figure, least[m.key])
            if m.key == "done" and figure is None:
                cells.append(Cell("not done"))
            else:
                cells.append(Cell(value(m, figure), "best" if wins else apart, wins))
        rows.append(tuple(cells))
    caption, labels = "Choices, best first", tuple(m.label for m in measures)
    if len(rows) > COLUMNS_MAX:
        return Table(caption, ("Choice", *labels), tuple(rows))
    heads = (Cell("Measure"), *(Cell(label) for label in labels))
    turned = tuple(zip(heads, *rows, strict=True))
    return Table(caption, tuple(c.text for c in turned[0]), turned[1:])


def _least(figures: list[Figures], measure: Measure, winners: set[str]) -> float | None:
    known = [f.values[measure.key] for f in figures if not winners or f.name in winners]
    return min((v for v in known if v is not None), default=None)


def hottest_ports(run: Run) -> Table:
    """The ports where data waited longest in all, then the ones with drops, then the busiest."""
    waited = waiting_by_port(run).select("port", "share")
    ports = (
        run.table("ports")
        .join(waited, on="port", how="left")
        .with_columns(pl.col("share").fill_null(0), dropped=pl.sum_horizontal(list(DROPS)))
        .sort("share", "dropped", "utilisation", "port", descending=[True, True, True, False])
    )
    rows = tuple(
        _cells(
            row["port"] or text.NONE,
            text.rate(row["rate_bps"]),
            text.percent(row["utilisation"]),
            text.percent(row["share"]),
            text.time(row["wait_p99_ps"]),
            text.time(row["wait_max_ps"]),
            text.size(row["queue_max_bytes"]),
            text.count(row["dropped"]),
            text.count(row["marks"]),
            text.size(row["sent_bytes"]),
        )
        for row in ports.head(ROWS_MAX).iter_rows(named=True)
    )
    columns = (
        "Port", "Rate", "Busy", "Share of all waiting", "Wait, 99th percentile", "Longest wait",
        "Longest queue", "Dropped", "Marked", "Sent",
    )
    return Table("Hottest ports", columns, rows, more=_more(ports.height, "port"))


def slowest_flows(run: Run) -> Table:
    """Flows that did not finish, then the slowest."""
    flows = foreground_flows(run).sort(
        "fct_ps", "flow", descending=[True, False], nulls_last=False
    )
    rows = tuple(
        _cells(
            text.count(row["flow"]),
            row["job"] or text.NONE,
            f"{row['from']} → {row['to']}",
            text.size(row["bytes"]),
            text.time(row["start_ps"]),
            text.time(row["fct_ps"]),
            text.rate(_rate(row["bytes"], row["fct_ps"])),
            text.count(row["retransmits"]),
            text.count(row["timeouts"]),
            text.time(row["srtt_ps"]),
            row["outcome"] or text.NONE,
        )
        for row in flows.head(ROWS_MAX).iter_rows(named=True)
    )
    columns = (
        "Flow", "Job", "From → to", "Size", "Started at", "Took", "Goodput", "Retransmitted",
        "Timeouts", "Smoothed RTT", "Outcome",
    )
    left = frozenset({"Job", "From → to", "Outcome"})
    return Table("Slowest flows", columns, rows, left, _more(flows.height, "flow"))


def jobs(run: Run) -> Table:
    """All jobs in the order of their start."""
    table = run.table("jobs").sort("start_ps", "job")
    rows = []
    for row in table.head(4 * ROWS_MAX).iter_rows(named=True):
        ended = row["end_ps"] is not None and row["end_ps"] >= (row["start_ps"] or 0)
        took = row["end_ps"] - (row["start_ps"] or 0) if ended else None
        rows.append(
            _cells(
                row["job"] or text.NONE,
                row["kind"] or text.NONE,
                text.time(row["start_ps"]),
                "not done" if took is None else text.time(took),
                text.count(row["flows"]),
                text.size(row["bytes"]),
                text.rate(_rate(row["bytes"], took)),
            )
        )
    columns = ("Job", "Kind", "Started at", "Took", "Flows", "Delivered", "Goodput")
    more = _more(table.height, "job", 4 * ROWS_MAX)
    return Table("Jobs", columns, tuple(rows), frozenset({"Kind"}), more)


def datagrams(run: Run) -> Table:
    """Datagram traffic, the pairs that lost most first."""
    table = (
        run.table("datagrams")
        .with_columns(missing=pl.col("sent_packets") - pl.col("received_packets"))
        .sort("missing", "job", "from", "to", descending=[True, False, False, False])
    )
    rows = tuple(
        _cells(
            row["job"] or text.NONE,
            f"{row['from']} → {row['to']}",
            text.count(row["sent_packets"]),
            text.count(row["received_packets"]),
            text.percent(row["missing"] / row["sent_packets"]) if row["sent_packets"] else text.NONE,
        )
        for row in table.head(ROWS_MAX).iter_rows(named=True)
    )
    columns = ("Job", "From → to", "Datagrams sent", "Arrived", "Missing")
    more = _more(table.height, "pair")
    return Table("Datagrams", columns, rows, frozenset({"From → to"}), more)


def events(run: Run) -> Table:
    """Faults in the order of time."""
    table = run.table("events").sort("time_ps", maintain_order=True)
    rows = tuple(
        _cells(text.time(row["time_ps"]), row["what"] or text.NONE, row["where"] or text.NONE)
        for row in table.head(4 * ROWS_MAX).iter_rows(named=True)
    )
    more = _more(table.height, "event", 4 * ROWS_MAX)
    return Table("Faults", ("At", "What", "Where"), rows, frozenset({"What", "Where"}), more)


def facts(runs: tuple[Run, ...]) -> Table:
    """What was run: the scenario's name and seed, and all of summary.json's single figures."""
    keyed = [_facts(run) for run in runs]
    return _side_by_side("Facts of the run", "Fact", runs, keyed, only_different=False)


def settings(runs: tuple[Run, ...]) -> Table:
    """The fields of the scenario in which the choices differ."""
    keyed = [dict(_flat(run.scenario)) for run in runs]
    for fields in keyed:
        fields.pop("name", None)
    return _side_by_side("What the choices set", "Field", runs, keyed, only_different=True)


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
        shown = [_shown(key, fields.get(key)) for fields in keyed]
        if only_different and len(set(shown)) == 1:
            continue
        rows.append(_cells(key, *shown))
    columns = (head, *(r.name if len(runs) > 1 else "Value" for r in runs))
    more = _more(len(rows), "field", FACTS_MAX)
    return Table(caption, columns, tuple(rows[:FACTS_MAX]), frozenset(columns[1:]), more)


def _facts(run: Run) -> dict[str, Any]:
    topology = run.scenario.get("topology")
    kind = topology.get("kind") if isinstance(topology, dict) else None
    known = {"scenario": run.scenario.get("name"), "seed": run.scenario.get("seed"), "topology": kind}
    listed = dict(_flat(run.summary))
    return {**{k: v for k, v in known.items() if v is not None and k not in listed}, **listed}


def _flat(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    """Paths and single values of nested data; long lists are told by their length."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and len(value) <= 16 and not path.endswith("pairs"):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{path}[{index}]")
    elif isinstance(value, list):
        yield path, f"{len(value)} entries" if value else "none"
    else:
        yield path, value


_TIMES = ("_ps", "delay", "delayed_ack", "rto_initial", "rto_min", "rto_max", "start", "at", "until", "interval", "duration")
_SIZES = ("bytes", "size", "limit", "reserve", "mtu", "cell", "buffer", "buffer_max", "nic_queue")
_RATES = ("_bps", "rate", "disk")


def _shown(key: str, value: Any) -> str:
    """A value with its unit, which its name tells."""
    if value is None:
        return text.NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    name = key.removesuffix(".fixed").rsplit(".", 1)[-1]
    for endings, form in ((_TIMES, text.time), (_SIZES, text.size), (_RATES, text.rate)):
        if name.endswith(tuple(e for e in endings if e[0] == "_")) or name in endings:
            return form(value)
    return str(value)


def _rate(count: int | None, took: int | None) -> float | None:
    return count * 8e12 / took if count is not None and took else None


def _cells(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(t) for t in texts)


def _more(total: int, word: str, shown: int = ROWS_MAX) -> str:
    return f"{text.plural(total - shown, f'more {word}')} in the tables of the run folder." if total > shown else ""
