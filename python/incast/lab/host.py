"""Hosts and their TCP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from incast.lab.base import Model, Override, Written, mtu_from
from incast.lab.quantities import InBase, PositiveSize, PositiveTime, Rate, RtoMax, Size, Span, Time, Within
from incast.quantity import above_min, parse_bytes, parse_span, parse_time


def _duplicates(value: object) -> int | str:
    if value == "off" or (type(value) is int and 1 <= value <= 1000):
        return value
    raise ValueError(f"{value!r} is not allowed: expected a number of duplicates from 1 to 1000, or off")


Duplicates = Annotated[
    int | str,
    PlainValidator(_duplicates),
    WithJsonSchema(
        {
            "description": "A number of duplicates, or off",
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": 1000}, {"enum": ["off"]}],
        }
    ),
    InBase(lambda duplicates: None if duplicates == "off" else duplicates),
]


ShortTime = Annotated[Time, Within(parse_time, most="1s")]
SysctlName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+(\.[A-Za-z0-9_-]+)+$")]


class Tcp(Model):
    """TCP settings of a host; the defaults are Linux's."""

    congestion: Literal["reno", "cubic", "dctcp", "htcp", "bbr"] = "cubic"
    """Congestion control: RFC 5681, RFC 9438, RFC 8257, H-TCP (draft-leith), BBR v1 (draft-cardwell)."""
    ecn: Literal["auto", "off", "on", "passive"] = "auto"
    """As Linux's tcp_ecn: off 0, on 1 (asks), passive 2 (agrees); auto: on with dctcp, else passive."""
    ecn_fallback: bool = True
    """A SYN that was lost is sent again without asking for ECN, as with Linux's tcp_ecn_fallback."""
    sack: bool = True
    """Selective acknowledgements (RFC 2018)."""
    rack: bool | None = None
    """RACK loss detection (RFC 8985); needs sack. Without a value: as sack."""
    tail_loss_probe: bool | None = None
    """Tail loss probe (RFC 8985); needs rack. Without a value: as rack."""
    probe_slack: Time = "2ms"
    """A tail loss probe waits so much longer than the two round trips of RFC 8985; the RFC itself has 0s."""
    max_ack_delay: Time | None = None
    """A tail loss probe of a single segment waits so much longer, as its acknowledgement may be delayed
    (RFC 8985, 7.2). Without a value: as delayed_ack. Linux has its rto_min here."""
    limited_transmit: bool = True
    """Limited transmit (RFC 3042)."""
    prr: bool | None = None
    """After loss or ECE the window shrinks as data is delivered (RFC 6937), as in Linux, and not at once;
    needs sack. Without a value: as sack."""
    fast_retransmit: Duplicates = 3
    """Duplicate acknowledgements that mean loss (RFC 5681, RFC 6675), or off; RACK counts none."""
    timestamps: bool = True
    """Timestamps option (RFC 7323): 12 bytes per segment."""
    initial_window: Annotated[int, Field(ge=1, le=1000)] = 10
    """Initial window in segments (RFC 6928)."""
    hystart: bool = True
    """CUBIC leaves slow start by HyStart++ (RFC 9406)."""
    ack_train: bool = True
    """With hystart, also after a train of acknowledgements of half a round trip, as Linux does: then slow
    start ends before it fills a switch's queue."""
    cubic_linux_growth: bool = False
    """CUBIC grows as Linux computes it, not as RFC 9438 does: by 5 % per round trip until the first loss, and
    at a speed that is computed again only when the window has changed or after 1/32 s."""
    rto_initial: Span = "1s"
    """Retransmission timeout before the first round-trip sample."""
    rto_min: Span = "200ms"
    """Minimum retransmission timeout; from a range [low, high] each host draws its own value."""
    rto_max: RtoMax = "120s"
    """Maximum retransmission timeout; `min` or `min + 100ms` is relative to the host's own rto_min."""
    clock_tick: Time = "0s"
    """Granularity of the retransmission clock (RFC 6298's G); 0s for a fine clock."""
    ack_every: Annotated[int, Field(ge=1, le=100)] = 2
    """Full segments per acknowledgement, at most; 1 is no delay."""
    quick_acks: Annotated[int, Field(ge=0, le=1000)] = 16
    """Acknowledgements that are not delayed when a connection begins, after a silence and after a repeated
    segment."""
    delayed_ack: PositiveTime = "40ms"
    """Longest delay of an acknowledgement."""
    receive_buffer: PositiveSize = "128KiB"
    """Receive buffer at the start."""
    receive_buffer_max: PositiveSize = "6MiB"
    """Receive buffer that autotuning may reach."""
    send_buffer: PositiveSize = "4MiB"
    """Send buffer."""
    dctcp_shift: Annotated[int, Field(ge=0, le=10)] = 4
    """DCTCP's estimation gain g as a shift: 4 is 1/16."""
    htcp_rtt_scaling: bool = True
    """H-TCP's increase is scaled by the round-trip time over 100 ms, between a tenth and twice."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: what follows from other settings is said."""
        rack = self.sack if self.rack is None else self.rack
        probe = rack if self.tail_loss_probe is None else self.tail_loss_probe
        ecn = self.ecn if self.ecn != "auto" else "on" if self.congestion == "dctcp" else "passive"
        prr = self.sack if self.prr is None else self.prr
        return {**super().base_units(), "ecn": ecn, "rack": rack, "tail_loss_probe": probe, "prr": prr}

    @field_validator("ecn")
    @classmethod
    def _dctcp_needs_ecn(cls, ecn: str, info: ValidationInfo) -> str:
        if info.data.get("congestion") == "dctcp" and ecn in ("off", "passive"):
            raise ValueError(f"ecn is {ecn}, but congestion is dctcp: it needs ecn: on (or auto)")
        return ecn

    @field_validator("rack", "tail_loss_probe", "prr")
    @classmethod
    def _needs(cls, on: bool | None, info: ValidationInfo) -> bool | None:
        needed = {"rack": "sack", "tail_loss_probe": "rack", "prr": "sack"}[str(info.field_name)]
        if on and info.data.get(needed) is False:
            raise ValueError(f"{info.field_name} needs {needed}, which is false")
        return on

    @field_validator("fast_retransmit")
    @classmethod
    def _rack_counts_none(cls, duplicates: int | str, info: ValidationInfo) -> int | str:
        sack, rack = info.data.get("sack", True), info.data.get("rack")
        if duplicates != 3 and (sack if rack is None else rack):
            raise ValueError(
                f"fast_retransmit is {duplicates}, but RACK, which is on, counts no duplicates: "
                "it needs rack: false"
            )
        return duplicates

    @field_validator("rto_max")
    @classmethod
    def _above_rto_min(cls, span: str | list[str], info: ValidationInfo) -> str | list[str]:
        if isinstance(span, str) and above_min(span) is not None:
            return span
        if "rto_min" in info.data and _end(span, 0) < _end(info.data["rto_min"], -1):
            raise ValueError("rto_max is below rto_min: it must be at least as long")
        return span

    @field_validator("receive_buffer_max")
    @classmethod
    def _above_receive_buffer(cls, text: str, info: ValidationInfo) -> str:
        least = info.data.get("receive_buffer", text)
        if parse_bytes(text) < parse_bytes(least):
            raise ValueError(f"receive_buffer_max is {text}, below receive_buffer ({least})")
        return text


def _end(span: str | list[str], end: int) -> int:
    (times,) = parse_span(span).values()
    return int(times[end] if isinstance(times, list) else times)


class Kernel(Model):
    """Settings of an emulated host's kernel."""

    emulated: bool = False
    """Jobs of all kinds run on this host's own kernel, as on a real host, and not in the simulator. A job's
    hosts are all emulated, or none is. Hosts of a job of kind `program` are emulated in any case."""
    memory: Annotated[PositiveSize, Within(parse_bytes, least="32MiB", most="64GiB")] = "64MiB"
    """Its memory."""
    moderation: ShortTime = "0s"
    """Interrupt moderation: the network card interrupts no sooner than this after the last time."""
    receive_ring: Annotated[int, Field(ge=1, le=256)] = 256
    """Packets that the network card keeps for the kernel between two interrupts; more are lost."""
    gso: bool = True
    """TCP waits for room for several segments and hands them over together (generic segmentation offload), as
    on most hosts; false: one by one, as simulated hosts do."""
    tso: bool = False
    """The network card cuts these batches into segments and fills in checksums, as on most hosts (TCP
    segmentation offload); false: the kernel does."""
    cpu_rate: Annotated[float, Field(gt=0, le=1000)] | None = None
    """The speed of its processor as a multiple of this machine's: with 0.5, what takes 1 ms of processor time
    here takes 2 ms there. Two runs differ then. Without it computing takes no time, and two runs are equal
    unless a program computes for half a second without a system call."""
    patience: PositiveTime = "60s"
    """A host that computes for longer without waiting, of real time, is taken for one that spins: the run
    ends. Several Java programs that start on one host may take minutes."""
    sysctl: Annotated[dict[SysctlName, Written], Field(max_length=1000)] = {}
    """What sysctl sets, by name: beyond what follows from `tcp`, which holds for its kernel too."""

    @model_validator(mode="after")
    def _something_to_cut(self) -> Kernel:
        if self.tso and not self.gso:
            raise ValueError("tso: the network card cuts what gso hands over: set gso, or leave tso away")
        return self


class Host(Model):
    """A host's settings."""

    mtu: Annotated[PositiveSize, mtu_from("100B")] = "1500B"
    """Largest IP packet that it sends."""
    nic_queue: Size = "64kB"
    """Bytes that the stack puts into the network card's queue before flows wait their turn."""
    cores: Annotated[int, Field(ge=1, le=4096)] = 8
    """Cores."""
    disk: Rate = "2GB/s"
    """Disk rate, reads and writes together."""
    packet_cost: ShortTime = "0s"
    """Core time per received packet, before its connection or process gets it; one after the other."""
    packet_jitter: ShortTime = "0s"
    """Each packet is late by a random time up to this, and none overtakes another; no core is used. So the
    same packets are not always last in a queue: the hosts of one kernel differ by up to a microsecond."""
    time_slice: ShortTime = "0s"
    """While all cores compute, packets wait for the end of a time slice of this length; 0s: they take
    precedence."""
    tcp: Tcp = Tcp()
    """TCP's settings."""
    kernel: Kernel = Kernel()
    """Settings of its kernel, where it is emulated."""


class HostOverride(Override):
    """What is different on some hosts: laid over `host`."""

    model_config = ConfigDict(json_schema_extra={"x-partial": "Host"})

    match: str
    """Which hosts: a name, a pattern like `left*`, a range like `host[0-3]`."""
