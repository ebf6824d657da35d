"""ECMP over time: what each way of the least even group sent, and how even the groups were."""

import polars as pl

from incast import text
from incast.network.ways import KEYS, evenness, groups, ways
from incast.report import charts, points
from incast.report.parts import Columns, Drawn, Figure, Table, legend, listed, numbered
from incast.report.run import Run
from incast.report.sections import all_classes

_GROUPS_MAX = 5
_WAYS_MAX = charts.SHAPES_MAX
_BUCKETS = 60
"""Few, so that there is more than one flow's packets in each."""


def ecmp(drawn: list[Drawn]) -> list[Figure]:
    """Two figures a run whose groups have sent anything."""
    return [figure for d in drawn for figure in _of_run(d.run, f", {d.run.name}" * (len(drawn) > 1))]


def _of_run(run: Run, suffix: str) -> list[Figure]:
    series = all_classes(run)
    busy = groups(run.table).filter(pl.col("sent_bytes") > 0)
    last = series["time_ps"].max()
    if not busy.height or not isinstance(last, int):
        return []
    members = ways(run.table)
    # What a few acknowledgements do is no matter: bytes beyond the even share.
    beyond = busy.with_columns(beyond=pl.col("sent_bytes") / pl.col("ways") * (pl.col("largest") - 1))
    worst = beyond.sort("beyond", *KEYS, descending=[True, False, False]).row(0, named=True)
    most = busy.sort("sent_bytes", *KEYS, descending=[True, False, False]).head(_GROUPS_MAX)
    found = (
        _rates(members, series, worst, last, suffix),
        _evenness(members, series, busy, most, last, suffix),
    )
    return [figure for figure in found if figure]


def _sent(members: pl.DataFrame, series: pl.DataFrame, node: str, group: int, end: int) -> pl.DataFrame:
    """Rates of a group's ways: `time_ps`, `port`, `sent_bytes` a second; nothing unless all were sampled."""
    ports = members.filter((pl.col("node") == node) & (pl.col("group") == group))["port"]
    sampled = series.filter(pl.col("port").is_in(ports.implode()))
    if sampled["port"].n_unique() < ports.len():
        return pl.DataFrame(schema={"time_ps": pl.Int64, "sent_bytes": pl.Float64, "port": pl.String})
    of_port = ((port, sampled.filter(pl.col("port") == port)) for port in ports)
    return pl.concat(
        points.rates(frame, "time_ps", ["sent_bytes"], end, _BUCKETS).with_columns(port=pl.lit(port))
        for port, frame in of_port
    )


def _rates(
    members: pl.DataFrame, series: pl.DataFrame, group: dict[str, object], end: int, suffix: str
) -> Figure | None:
    """What each way of a group sent."""
    node, number = str(group["node"]), int(str(group["group"]))
    sent = _sent(members, series, node, number, end)
    of_group = members.filter((pl.col("node") == node) & (pl.col("group") == number))
    order = of_group.sort("sent_bytes", "port", descending=[True, False])["port"].to_list()
    shown = order[:_WAYS_MAX]
    curves = [
        (port, color, sent.filter(pl.col("port") == port).select("time_ps", y=pl.col("sent_bytes") * 8))
        for color, port in enumerate(shown)
    ]
    if not sent.height:
        return None
    said = [
        "The group whose largest way sent most beyond the even share.",
        f"The {len(shown)} busiest of {len(order)} ways." if len(order) > len(shown) else "",
    ]
    chart = charts.lines(curves, ("sent", "rate"), "way", end, steps=True)
    title = f"ECMP ways of {node}, group {number}{suffix}"
    return Figure(title, (("", chart),), numbered(shown), " ".join(filter(None, said)))


def _evenness(
    members: pl.DataFrame, series: pl.DataFrame, busy: pl.DataFrame, most: pl.DataFrame, end: int, suffix: str
) -> Figure | None:
    """Jain's index of the busiest groups over time, and all groups as a table."""
    curves: list[tuple[str, int, pl.DataFrame]] = []
    for node, group in most.select(KEYS).iter_rows():
        sent = _sent(members, series, node, group, end)
        even = sent.group_by("time_ps").agg(evenness("sent_bytes")).sort("time_ps").drop_nulls("jain")
        if even.height:
            curves.append((f"{node}, group {group}", len(curves), even.select("time_ps", y="jain")))
    if not curves:
        return None
    chart = charts.lines(curves, ("Jain's index", ""), "group", end, steps=True, top=1.0)
    note = "1: all ways sent equally. 1/n: one of n ways sent everything. " + (
        f"Of {curves[0][0]}." if len(curves) == 1 else "The groups that sent most."
    )
    return Figure(f"Evenness of ECMP{suffix}", (("", chart),), legend(curves), note, _table(busy))


def _table(busy: pl.DataFrame) -> Table:
    columns: Columns = {
        "Node": lambda row: row["node"],
        "Group": lambda row: str(row["group"]),
        "Ways": lambda row: str(row["ways"]),
        "To hosts": lambda row: text.count(row["destinations"]),
        "Sent": lambda row: text.size(row["sent_bytes"]),
        "Jain's index": lambda row: text.digits(row["jain"]),
        "Largest by even share": lambda row: text.digits(row["largest"]),
        "Largest way": lambda row: row["largest_port"],
    }
    return listed("ECMP groups, least even first", busy, columns, "group", frozenset({"Largest way"}))
