"""Switches: buffers, queues, schedulers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from incast.lab.base import ClassKey, Model, Override, TrafficClass, default_kind
from incast.lab.pfc import Pfc
from incast.lab.quantities import Depth, PositiveSize, PositiveTime, Size, Time
from incast.quantity import parse_bytes, parse_depth, parse_time


class StaticBuffer(Model):
    """Each port has its own memory."""

    kind: Literal["static"] = "static"
    limit: Depth
    """Room per port, not counting the packet that is being sent."""


class SharedBuffer(Model):
    """One pool with dynamic thresholds (Choudhury & Hahne 1998): a queue may hold reserve + alpha × free."""

    kind: Literal["shared"] = "shared"
    size: PositiveSize = "32MB"
    """The pool."""
    alpha: Annotated[float, Field(gt=0, le=1e6)] = 8.0
    """Threshold factor: the part of the free memory that one queue may take."""
    reserve: Size = "0B"
    """Guaranteed to each queue."""
    cell: PositiveSize = "1B"
    """Memory is allocated in multiples of it; 1B counts exact bytes."""


_Part = Annotated[float, Field(ge=0, lt=1)]


class VoqBuffer(Model):
    """Deep memory with virtual output queues: one for each ingress port, egress port and class.

    Ports that share a packet processor, as in a Jericho, share its queues.
    """

    kind: Literal["voq"] = "voq"
    size: PositiveSize = "8GB"
    """The memory."""
    reserved: _Part = 0.3
    """Part of it that is divided evenly, as the guaranteed minimum of each queue."""
    multicast: _Part = 0.15
    """Part of it that is reserved for multicast, and not used here."""
    cap: PositiveSize = "125MB"
    """Most that one queue may hold."""
    processors: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Packet processors: ports are assigned to them in order, and each has one queue for each egress port
    and class. Without a value each ingress port has its own queues."""
    alpha: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    """Threshold factor: the part of the free memory that one queue may take beyond its minimum."""
    cell: PositiveSize = "1B"
    """Memory is allocated in multiples of it; 1B counts exact bytes."""

    @field_validator("multicast")
    @classmethod
    def _leaves_some(cls, multicast: float, info: ValidationInfo) -> float:
        reserved: float = info.data.get("reserved", 0.0)
        if reserved + multicast >= 1:
            raise ValueError(
                f"{multicast} and reserved {reserved} leave nothing to share: less than 1 in all"
            )
        return multicast

    @field_validator("cap")
    @classmethod
    def _within_memory(cls, cap: str, info: ValidationInfo) -> str:
        if "size" in info.data and parse_bytes(cap) > parse_bytes(info.data["size"]):
            raise ValueError(f"a queue of {cap} does not fit into a memory of {info.data['size']}")
        return cap


class CellsBuffer(Model):
    """An ATM switch: packets come and go as cells of 53 bytes (AAL5), which are queued at egress.

    All its links have one rate, and hosts at their other ends. A packet that has lost a cell is lost; its
    other cells take their time on the link all the same.
    """

    kind: Literal["cells"] = "cells"
    limit: Annotated[int, Field(ge=1, le=1 << 26)] = 2048
    """Cells that a port may hold, not counting the one that is being sent."""
    discard: Literal["tail", "partial", "early"] = "tail"
    """Cells to drop if there is no room: each arriving cell (tail), also the rest of its packet (partial
    packet discard), or whole packets that begin while `threshold` cells wait (early)."""
    threshold: Annotated[int, Field(ge=0)] | None = None
    """Waiting cells from which on `early` drops packets; without a value 80 % of `limit`."""
    encapsulation: Size = "8B"
    """Header before each packet: 8B with LLC/SNAP (RFC 2684), 0B for separate virtual channels."""
    sonet: bool = True
    """The links' rate is that of the SONET or SDH line, of which 26/27 are for cells."""
    reassembly_timeout: Time = "3s"
    """Time after which a receiver discards a packet whose last cell was lost; before, it adds the next
    packet to it."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: the threshold is said."""
        threshold = self.limit * 4 // 5 if self.threshold is None else self.threshold
        return {**super().base_units(), "threshold": threshold}

    @field_validator("threshold")
    @classmethod
    def _for_early(cls, threshold: int | None, info: ValidationInfo) -> int | None:
        if threshold is None:
            return None
        if info.data.get("discard") in ("tail", "partial"):
            raise ValueError(f"discard is {info.data['discard']}: a threshold needs discard: early")
        if threshold > info.data.get("limit", threshold):
            raise ValueError(f"{threshold} is above the limit of {info.data['limit']} cells")
        return threshold


Buffer = Annotated[
    StaticBuffer | SharedBuffer | VoqBuffer | CellsBuffer, Field(discriminator="kind"), default_kind("shared")
]


class TailDrop(Model):
    """Accept while there is room."""

    kind: Literal["tail-drop"] = "tail-drop"


class Step(Model):
    """Mark while the queue is longer than a threshold (RFC 8257's K); drop what is not ECN-capable."""

    kind: Literal["step"] = "step"
    threshold: Depth
    """K: the queue length above which packets are marked."""


class Red(Model):
    """Random early detection (Floyd & Jacobson 1993)."""

    kind: Literal["red"] = "red"
    min: Depth
    """Average queue length below which nothing happens."""
    max: Depth
    """Average queue length from which every packet is marked or dropped; with `gentle`, from twice this."""
    max_p: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Probability reached at `max`."""
    weight: Annotated[float, Field(gt=0, le=1)] = 0.002
    """Weight of a new sample in the average; 1 takes the length as it is."""
    gentle: bool = True
    """Rise from `max_p` to 1 between `max` and twice `max`."""
    ecn: bool = True
    """Mark ECN-capable packets instead of dropping them."""

    @field_validator("max")
    @classmethod
    def _above_min(cls, text: str, info: ValidationInfo) -> str:
        if "min" not in info.data:
            return text
        least: str = info.data["min"]
        (unit, low), (other, high) = (next(iter(parse_depth(t).items())) for t in (least, text))
        if unit != other:
            raise ValueError(f"min is {least} and max {text}: both are in bytes or both in packets")
        if high < low:
            raise ValueError(f"max is {text}, below min ({least}): max must be at least min")
        return text


class Codel(Model):
    """Controlled delay (RFC 8289): drops on leaving while packets keep waiting longer than a target."""

    kind: Literal["codel"] = "codel"
    target: PositiveTime = "5ms"
    """Acceptable standing wait."""
    interval: PositiveTime = "100ms"
    """Waits above the target for this long are a standing queue; about the longest round trip."""
    ecn: bool = True
    """Mark ECN-capable packets instead of dropping them."""

    @field_validator("interval")
    @classmethod
    def _above_target(cls, interval: str, info: ValidationInfo) -> str:
        if "target" in info.data and parse_time(interval) < parse_time(info.data["target"]):
            least = info.data["target"]
            raise ValueError(f"{interval} is below target ({least}): interval must be at least target")
        return interval


Queue = Annotated[TailDrop | Step | Red | Codel, Field(discriminator="kind"), default_kind("tail-drop")]


class Fifo(Model):
    """One queue for all classes."""

    kind: Literal["fifo"] = "fifo"


class Ets(Model):
    """802.1Qaz: strict classes first, highest first; the others share by deficit round robin."""

    kind: Literal["ets"] = "ets"
    strict: list[TrafficClass] = []
    """Classes served before all others."""
    weights: dict[ClassKey, Annotated[int, Field(ge=1, le=10_000)]] = {}
    """Shares of the other classes; 1 by default."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: each class is either strict or has a weight."""
        rest = [number for number in range(8) if number not in self.strict]
        weights = [[number, self.weights.get(number, 1)] for number in rest]
        return {"kind": self.kind, "strict": sorted(self.strict), "weights": weights}

    @field_validator("strict")
    @classmethod
    def _once(cls, strict: list[int]) -> list[int]:
        for c in strict:
            if strict.count(c) > 1:
                raise ValueError(f"class {c} is there twice")
        return strict

    @field_validator("weights")
    @classmethod
    def _not_strict(cls, weights: dict[int, int], info: ValidationInfo) -> dict[int, int]:
        for c in info.data.get("strict", []):
            if c in weights:
                raise ValueError(f"class {c} is strict and has a weight: it can't be both")
        return weights


Scheduler = Annotated[Fifo | Ets, Field(discriminator="kind"), default_kind("fifo")]


class Switch(Model):
    """A switch's settings."""

    buffer: Buffer = SharedBuffer()
    """Where packets wait."""
    queue: Queue = TailDrop()
    """Queue discipline."""
    scheduler: Scheduler = Fifo()
    """Which queue of a port is served next."""
    class_queues: dict[ClassKey, Queue] = {}
    """Queue disciplines of single classes (0–7), if they differ from `queue`; needs the scheduler `ets`."""
    pfc: Pfc | None = None
    """Priority-based flow control; needs a shared buffer and the scheduler `ets`."""

    def base_units(self) -> dict[str, Any]:
        """What the core reads: queues of single classes as a list."""
        queues = [[number, queue.base_units()] for number, queue in sorted(self.class_queues.items())]
        return {**super().base_units(), "class_queues": queues}

    @field_validator("queue", "scheduler")
    @classmethod
    def _of_packets(cls, setting: Queue | Scheduler, info: ValidationInfo) -> Queue | Scheduler:
        if isinstance(info.data.get("buffer"), CellsBuffer) and not isinstance(setting, TailDrop | Fifo):
            allowed = "tail-drop: the buffer's discard says more" if info.field_name == "queue" else "fifo"
            raise ValueError(f"a buffer of cells has one queue a port, and {info.field_name} is {allowed}")
        return setting

    @field_validator("class_queues")
    @classmethod
    def _has_classes(cls, queues: dict[int, Queue], info: ValidationInfo) -> dict[int, Queue]:
        if queues and isinstance(info.data.get("scheduler"), Fifo):
            raise ValueError("fifo has one queue for all classes: class_queues needs the scheduler ets")
        return queues

    @field_validator("pfc")
    @classmethod
    def _can_pause(cls, pfc: Pfc | None, info: ValidationInfo) -> Pfc | None:
        if pfc and isinstance(info.data.get("buffer"), StaticBuffer | VoqBuffer | CellsBuffer):
            raise ValueError("PFC counts memory that ports share: it needs a buffer of kind shared")
        if pfc and isinstance(info.data.get("scheduler"), Fifo):
            raise ValueError("PFC pauses single classes: it needs the scheduler ets, with a queue a class")
        return pfc


class SwitchOverride(Override):
    """What is different on some switches: laid over `switch`."""

    model_config = ConfigDict(json_schema_extra={"x-partial": "Switch"})

    match: str
    """Which switches: a name, a pattern like `spine*`, a range like `leaf[0-3]`."""
