"""The report's tables as text, ready for the page. Computes no new figures."""

import polars as pl

from incast import text
from incast.answer import signed
from incast.choose import Ranking
from incast.contrast import contrast
from incast.kinds import traits
from incast.overview import Choices, Compared, compared
from incast.report.foreground import DROPS, first, foreground_flows, slowest, waiting_by_port
from incast.report.parts import ROWS_MAX, Cell, Columns, Row, Table, cells, listed, more_than
from incast.report.run import Run

COLUMNS_MAX = 5
"""Up to so many choices stand side by side; more stand below each other."""


def choices(of: Choices, ranking: Ranking) -> Table:
    """All choices by the other figures, and how each differs from the best choice by the one that decides."""
    figures = list(compared(of, ranking, every=False))
    rows = [
        (Cell(name), *(_compared(each, name, ranking.best) for each in figures))
        for name in (*ranking.figures, *ranking.out)
    ]
    caption, labels = "Other figures", tuple(each.label for each in figures)
    if len(rows) > COLUMNS_MAX:
        return Table(caption, ("Choice", *labels), tuple(rows))
    heads = (Cell("Figure"), *(Cell(label) for label in labels))
    turned = tuple(zip(heads, *rows, strict=True))
    return Table(caption, tuple(c.text for c in turned[0]), turned[1:])


def _compared(figure: Compared, name: str, best: str | None) -> Cell:
    """A mean, and how it differs from the best choice's; in brackets where the seeds don't decide."""
    found, metric = figure.samples[name], figure.metric
    against = contrast(figure.samples.get(best or "", {}), found) if name != best else None
    said = signed(against) if against and metric.better else ""
    spread = text.span(min(found.values()), max(found.values()), metric.text) if found else ""
    return Cell(metric.text(figure.means[name]), ", ".join(filter(None, (said, spread))))


def hottest_ports(run: Run) -> Table:
    """The ports where data waited longest in all, then the ones with drops, then the busiest."""
    waited = waiting_by_port(run).select("port", "share")
    ports = (
        run.table("ports")
        .join(waited, on="port", how="left")
        .with_columns(pl.col("share").fill_null(0), dropped=pl.sum_horizontal(list(DROPS)))
    )
    hottest = first(ports, ROWS_MAX, share=True, dropped=True, utilisation=True, port=False)
    columns: Columns = {
        "Port": lambda row: row["port"] or text.NONE,
        "Rate": lambda row: text.rate(row["rate_bps"]),
        "Busy": lambda row: text.percent(row["utilisation"]),
        "Share of all waiting": lambda row: text.percent(row["share"]),
        "Wait, 99th percentile": lambda row: text.time(row["wait_p99_ps"]),
        "Longest wait": lambda row: text.time(row["wait_max_ps"]),
        "Longest queue": lambda row: text.size(row["queue_max_bytes"]),
        "Dropped": lambda row: text.count(row["dropped"]),
        "Marked": lambda row: text.count(row["marks"]),
        "Sent": lambda row: text.size(row["sent_bytes"]),
    }
    return listed("Hottest ports", hottest, columns, "port", of=ports.height)


def slowest_flows(run: Run) -> Table:
    """Flows that did not finish, then the slowest."""
    flows = foreground_flows(run)
    columns: Columns = {
        "Flow": lambda row: text.count(row["flow"]),
        "Job": lambda row: row["job"] or text.NONE,
        "From → to": _ends,
        "Size": lambda row: text.size(row["bytes"]),
        "Started at": lambda row: text.time(row["start_ps"]),
        "Took": lambda row: (
            text.time(row["fct_ps"]) if row["fct_ps"] is not None else row["outcome"] or "unfinished"
        ),
        "Goodput": lambda row: text.rate(_rate(row["bytes"], row["fct_ps"])),
        "Retransmitted": lambda row: text.count(row["retransmits"]),
        "Timeouts": lambda row: text.count(row["timeouts"]),
        "Smoothed RTT": lambda row: text.time(row["srtt_ps"]),
    }
    shown = slowest(flows, ROWS_MAX)
    return listed("Slowest flows", shown, columns, "flow", frozenset({"Job", "From → to"}), of=flows.height)


def jobs(run: Run) -> Table:
    """All jobs in the order of their start."""
    arrived = run.table("datagrams").group_by("job").agg(pl.col("received_bytes").sum())
    table = run.table("jobs").join(arrived, on="job", how="left").sort("start_ps", "job")
    rows = []
    for row in table.head(4 * ROWS_MAX).iter_rows(named=True):
        ended = row["end_ps"] is not None and row["end_ps"] >= (row["start_ps"] or 0)
        took = row["end_ps"] - (row["start_ps"] or 0) if ended else None
        lasted = took if ended else _until_the_end(run, row)
        delivered = (row["bytes"] or 0) + (row["received_bytes"] or 0)
        rows.append(
            cells(
                row["job"] or text.NONE,
                row["kind"] or text.NONE,
                text.time(row["start_ps"]),
                text.time(took) if ended else "all the run" if lasted else "not done",
                text.count(row["flows"]),
                text.size(delivered),
                text.rate(_rate(delivered, lasted)),
            )
        )
    columns = ("Job", "Kind", "Started at", "Took", "Flows", "Delivered", "Goodput")
    more = more_than(table.height, "job", 4 * ROWS_MAX)
    return Table("Jobs", columns, tuple(rows), frozenset({"Kind"}), more)


def datagrams(run: Run) -> Table:
    """Datagram traffic, the pairs that lost most first."""
    table = (
        run.table("datagrams")
        .with_columns(missing=pl.col("sent_packets") - pl.col("received_packets"))
        .sort("missing", "job", "from", "to", descending=[True, False, False, False])
    )
    columns: Columns = {
        "Job": lambda row: row["job"] or text.NONE,
        "From → to": _ends,
        "Datagrams sent": lambda row: text.count(row["sent_packets"]),
        "Arrived": lambda row: text.count(row["received_packets"]),
        "Missing": lambda row: (
            text.percent(row["missing"] / row["sent_packets"]) if row["sent_packets"] else text.NONE
        ),
    }
    return listed("Datagrams", table, columns, "pair", frozenset({"From → to"}))


def events(run: Run) -> Table:
    """Faults, and what PFC's watchdog found, in the order of time."""
    table = run.table("events").sort("time_ps", maintain_order=True)
    columns: Columns = {
        "At": lambda row: text.time(row["time_ps"]),
        "What": lambda row: row["what"] or text.NONE,
        "Where": lambda row: row["where"] or text.NONE,
    }
    return listed("Faults", table, columns, "event", frozenset({"What", "Where"}), 4 * ROWS_MAX)


def _ends(row: Row) -> str:
    return f"{row['from']} → {row['to']}"


def _until_the_end(run: Run, row: Row) -> int | None:
    """How long background traffic lasted: nothing waits for it, so it has no end of its own."""
    end = run.summary.get("sim_time_ps")
    if traits(row["kind"]).awaited or end is None:
        return None
    return int(end) - (row["start_ps"] or 0)


def _rate(count: int | None, took: int | None) -> float | None:
    return count * 8e12 / took if count is not None and took else None
