"""The metrics of a run's network: names, labels, and where their values are in the run's tables.

Source: Prometheus, "Metric and label naming": base units, `_total` behind counters.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A metric of which there is a sample at each time."""

    name: str
    """Without the `_total` of a counter."""
    help: str
    table: str
    column: str
    labels: tuple[str, ...]
    counter: bool = False
    """The column counts since the sample before, the metric since the beginning."""
    fixed: tuple[tuple[str, str], ...] = ()
    """Labels that are always the same."""

    @property
    def metric(self) -> str:
        """The name in queries."""
        return self.name + "_total" * self.counter

    @property
    def per_unit(self) -> float:
        """The column's units in one of the metric's: times are in picoseconds and seconds."""
        return 1e12 if self.column.endswith("_ps") else 1.0


def _of(
    table: str, labels: tuple[str, ...], *columns: tuple[str, str, str], counters: bool = False
) -> list[Family]:
    """Metrics of a table: name, what it is, column; a direction stands behind the name, as in `name=in`."""
    made = []
    for name, about, column in columns:
        metric, _, direction = name.partition("=")
        fixed = (("direction", direction),) if direction else ()
        made.append(Family(f"incast_{metric}", about, table, column, labels, counters, fixed))
    return made


_PORT, _CLASS, _GROUP = ("node", "port"), ("node", "port", "class"), ("node", "group")
FAMILIES = (
    *_of(
        "ports_series",
        _PORT,
        ("port_queue_bytes", "Queue length of a port.", "queue_bytes"),
        ("port_queue_watermark_bytes", "Longest queue since the sample before.", "queue_max_bytes"),
    ),
    *_of(
        "ports_series",
        _PORT,
        ("port_sent_bytes", "IP bytes sent.", "sent_bytes"),
        ("port_discarded_packets=in", "Packets discarded.", "in_discards"),
        ("port_discarded_packets=out", "Packets discarded.", "out_discards"),
        ("port_marked_packets", "Packets marked with congestion experienced.", "marks"),
        ("port_pause_frames=sent", "PAUSE frames.", "pause_sent"),
        ("port_pause_frames=received", "PAUSE frames.", "pause_received"),
        ("port_paused_seconds", "Time with at least one class paused.", "paused_ps"),
        counters=True,
    ),
    *_of(
        "queues_series",
        _CLASS,
        ("queue_bytes", "Queue length of a class.", "queue_bytes"),
        ("queue_watermark_bytes", "Longest queue since the sample before.", "queue_max_bytes"),
    ),
    *_of(
        "pools_series",
        ("node",),
        ("pool_used_bytes", "Shared memory in use.", "used_bytes"),
        ("pool_watermark_bytes", "Most shared memory in use since the sample before.", "used_max_bytes"),
        ("pool_size_bytes", "Shared memory.", "size_bytes"),
        ("headroom_used_bytes", "Headroom of PFC in use.", "headroom_bytes"),
        ("headroom_watermark_bytes", "Most headroom since the sample before.", "headroom_max_bytes"),
        ("headroom_size_bytes", "Headroom of PFC.", "headroom_size_bytes"),
    ),
    *_of(
        "pauses_series",
        _CLASS,
        ("priority_group_bytes", "Memory held of what came in by a port.", "held_bytes"),
        ("priority_group_watermark_bytes", "Most held since the sample before.", "held_max_bytes"),
        ("priority_group_headroom_bytes", "Headroom in use.", "headroom_bytes"),
        (
            "priority_group_headroom_watermark_bytes",
            "Most headroom since the sample before.",
            "headroom_max_bytes",
        ),
    ),
    *_of(
        "pauses_series",
        _CLASS,
        ("pfc_xoff_frames", "PAUSE frames sent that ask for a pause or renew one.", "xoff_sent"),
        ("pfc_paused_seconds", "Time during which a class was paused.", "paused_ps"),
        counters=True,
    ),
    *_of(
        "ways",
        (*_GROUP, "port"),
        ("ecmp_way_sent_bytes", "IP bytes sent over a way of ECMP.", "sent_bytes"),
        counters=True,
    ),
    *_of(
        "evenness",
        _GROUP,
        ("ecmp_jain_ratio", "Jain's index of a group's ways since the sample before.", "jain"),
        ("ecmp_largest_way_ratio", "Largest way by the even share since the sample before.", "largest"),
    ),
)
"""Those of one name follow one another. `ways` and `evenness` are computed; the others are tables."""
CAUSES = tuple(
    _of(
        "pause_causes",
        (*_CLASS, "cause", "egress"),
        ("pfc_pauses", "Pauses that a port asked for, at the end of the run.", "pauses"),
        ("pfc_asked_seconds", "Time from XOFF to XON, at the end of the run.", "asked_ps"),
        counters=True,
    )
)
"""Counters of which there is one sample, at the end."""
SCALE = "incast_time_scale_ratio"
"""How many seconds stand for one of the run."""
