"""What the tables say about a run's time: where data waited, what was lost, what the loss cost.

Sentences with computed figures only; names are escaped. Which run is better is `answer`'s matter.
"""

import polars as pl
from markupsafe import Markup

from incast import text
from incast.report import phases, walked
from incast.report.foreground import (
    DROPS,
    ended_last,
    first,
    foreground_flows,
    switch_ports,
    switch_waits,
    total,
    waiting_by_port,
)
from incast.report.points import wait_quantile
from incast.report.run import Run

LONGER = 1.5
"""From this ratio on, a longer wait is told as what sets two runs apart."""
BUSY = 0.9
"""From this utilisation on, a link is called the limit."""


def evidence(run: Run) -> list[Markup]:
    """How walks did, where data waited, what was lost and why, what the loss cost."""
    found = [
        *(Markup("{}").format(sentence) for sentence in walked.sentences(run)),
        _waiting(run),
        _loss(run),
        _pauses(run),
        _timeouts(run),
        phases.hardest_hit(run) if phases.has_tasks(run) else _last(run),
        _marks(run),
        limit(run),
    ]
    return [sentence for sentence in found if sentence]


def _waiting(run: Run) -> Markup | None:
    """The port whose packets waited longest in all, and how long its queue was."""
    ports = waiting_by_port(run)
    if not ports.height or not ports["waited_ns"][0]:
        return None
    port, share = ports["port"][0], ports["share"][0]
    known = switch_ports(run).filter(pl.col("port") == port)
    row = known.row(0, named=True) if known.height else {}
    tail = row.get("wait_p99_ps") or wait_quantile(switch_waits(run).filter(pl.col("port") == port), 0.99)
    sentence = Markup("Data waited longest at {}: {} of all waiting in switches, 99th percentile {}").format(
        _code(port), text.percent(share), text.time(tail)
    )
    if row.get("queue_max_bytes"):
        sentence += Markup(", queue up to {}").format(text.size(row["queue_max_bytes"]))
    if row.get("utilisation"):
        sentence += Markup(", link busy {} of the time").format(text.percent(row["utilisation"]))
    return sentence + "."


def _loss(run: Run) -> Markup | None:
    if total(run.table("ports"), *DROPS) is None:
        return None
    ports = run.table("ports").with_columns(dropped=pl.sum_horizontal(list(DROPS)))
    dropped = int(ports["dropped"].sum())
    lost = total(ports, "lost", "corrupted") or 0
    if not dropped and not lost:
        return Markup("No packet was dropped.")
    if not dropped:
        return Markup("{} lost on links; none was dropped in a queue.").format(text.plural(lost, "packet"))
    reasons = sorted(((int(ports[c].sum()), word) for c, word in DROPS.items()), reverse=True)
    most, why = reasons[0]
    worst = first(ports, 1, dropped=True, port=False).row(0, named=True)
    cause = f"by {why}" if most == dropped else f"{text.percent(most / dropped)} of them by {why}"
    sentence = Markup("{} dropped, {}; {} at {}").format(
        text.plural(dropped, "packet"), cause, text.percent(worst["dropped"] / dropped), _code(worst["port"])
    )
    if lost:
        sentence += Markup("; {} more lost on links").format(text.count(lost))
    return sentence + "."


def _pauses(run: Run) -> Markup | None:
    """How much PFC paused, where most, and what its watchdog found."""
    ports = run.table("ports")
    frames = int(ports["pause_sent"].sum())
    if not frames and not ports["paused_ps"].sum():
        return None
    worst = first(ports, 1, paused_ps=True, port=False).row(0, named=True)
    sentence = Markup("{} sent; longest paused was {}, {} in all").format(
        text.plural(frames, "PAUSE frame"), _code(worst["port"]), text.time(worst["paused_ps"])
    )
    storms = int(run.table("pauses")["storms"].sum())
    if storms:
        sentence += Markup("; the watchdog found {}").format(text.plural(storms, "storm"))
    return sentence + "."


def _timeouts(run: Run) -> Markup | None:
    """What waiting for the retransmission timer cost: flows with a timeout against those without."""
    flows = foreground_flows(run)
    hit = flows.filter(pl.col("timeouts") > 0)
    if not hit.height:
        return None
    sentence = Markup("{} hit {}").format(
        text.plural(int(hit["timeouts"].sum()), "retransmission timeout"),
        text.plural(hit.height, "flow"),
    )
    with_, without = _median(hit), _median(flows.filter(pl.col("timeouts") == 0))
    if with_ is not None and without is not None:
        half = "it completed after" if hit.height == 1 else "half of these completed within"
        sentence += Markup("; {} {}, half of the others within {}").format(
            half, text.time(with_), text.time(without)
        )
    return sentence + "."


def _last(run: Run) -> Markup | None:
    """The flow that ended last, when it had trouble."""
    flows = foreground_flows(run).filter(pl.col("fct_ps").is_not_null())
    if not flows.height:
        return None
    last = ended_last(flows).row(0, named=True)
    trouble = [
        text.plural(last[column], word)
        for column, word in (("timeouts", "timeout"), ("retransmits", "retransmission"))
        if last[column]
    ]
    if not trouble:
        return None
    return Markup("The last flow to end, {} → {} ({}), had {}.").format(
        _code(last["from"]), _code(last["to"]), text.size(last["bytes"]), text.listed(trouble)
    )


def _marks(run: Run) -> Markup | None:
    marks = total(run.table("ports"), "marks")
    sent = int(switch_ports(run)["sent_packets"].sum())
    if not marks or not sent:
        return None
    part = text.percent(marks / sent)
    return Markup("Switches marked {} ({} of what they sent).").format(text.plural(marks, "packet"), part)


def apart(best: Run, other: Run) -> Markup | None:
    """The greatest difference that the tables show between the best run and another."""
    found = _apart_by_timeouts(other, best) or _apart_by_waits(other, best) or _apart_by_repeats(other, best)
    said = Markup("What sets {} apart: {}").format(name(other.name), found) if found else None
    lost = phases.behind(other, best, name(other.name), name(best.name))
    return Markup(" ").join(filter(None, (said, lost))) or None


def limit(run: Run) -> Markup | None:
    """The busiest port, where it is so busy that the link itself limits."""
    ports = run.table("ports").drop_nulls("utilisation")
    if not ports.height:
        return None
    busiest = first(ports, 1, utilisation=True, port=False)
    port, busy = busiest.select("port", "utilisation").row(0)
    if busy < BUSY:
        return None
    return Markup("The busiest link, at {}, was busy {} of the time: near its limit.").format(
        _code(port), text.percent(busy)
    )


def _apart_by_timeouts(run: Run, best: Run) -> Markup | None:
    flows = foreground_flows(run)
    more, fewer = (total(each, "timeouts") or 0 for each in (flows, foreground_flows(best)))
    hit = flows.filter(pl.col("timeouts") > 0)
    with_, without = _median(hit), _median(flows.filter(pl.col("timeouts") == 0))
    if more <= 2 * fewer or with_ is None or without is None or with_ < 2 * without:
        return None
    ended = ended_last(flows.filter(pl.col("fct_ps").is_not_null()))
    last = ", the last to end among them" if ended["timeouts"][-1] else ""
    those = "flow that waited" if hit.height == 1 else "flows that waited"
    return Markup("{} {} for the retransmission timer (median completion {}, without {}){}; {} {}.").format(
        text.count(hit.height),
        those,
        text.time(with_),
        text.time(without),
        last,
        name(best.name),
        f"had {text.plural(fewer, 'timeout')}" if fewer else "had no timeout",
    )


def _apart_by_waits(run: Run, best: Run) -> Markup | None:
    longer, shorter = (wait_quantile(switch_waits(each), 0.99) for each in (run, best))
    ports = waiting_by_port(run)
    if not longer or not shorter or longer < LONGER * shorter or not ports.height:
        return None
    return Markup(
        "data waits longer in its switches (99th percentile {}, {} with {}), {} of it at {}."
    ).format(
        text.time(longer),
        text.time(shorter),
        name(best.name),
        text.percent(ports["share"][0]),
        _code(ports["port"][0]),
    )


def _apart_by_repeats(run: Run, best: Run) -> Markup | None:
    more, fewer = (total(foreground_flows(each), "retransmits") or 0 for each in (run, best))
    if more <= 2 * fewer or more < 10:
        return None
    return Markup("{} retransmitted, {} with {}.").format(
        text.plural(more, "packet"), text.count(fewer), name(best.name)
    )


def _median(flows: pl.DataFrame) -> float | None:
    middle = flows["fct_ps"].quantile(0.5, interpolation="linear")
    return None if middle is None else float(middle)


def name(of: str) -> Markup:
    """The name of a choice."""
    return Markup("<b>{}</b>").format(of)


def _code(of: str | None) -> Markup:
    return Markup("<code>{}</code>").format(of or text.NONE)
