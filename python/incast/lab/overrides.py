"""Settings of switches and hosts in the core's terms: one rule for all, and rules for the overrides.

In the core the last rule that matches counts and nothing is merged; here later overrides are laid over
earlier ones, so a node that several of them match gets a rule of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from incast.document import Node, merge
from incast.errors import ScenarioError
from incast.lab.base import Model, Override
from incast.lab.findings import Findings
from incast.lab.host import Host, Tcp
from incast.lab.pfc import Pfc, StaticXoff, Watchdog, Xoff
from incast.lab.select import SelectError, select
from incast.lab.switch import (
    Buffer,
    CellsBuffer,
    Codel,
    Ets,
    Fifo,
    Queue,
    Red,
    Scheduler,
    SharedBuffer,
    Step,
    Switch,
    VoqBuffer,
)
from incast.lab.validate import problems
from incast.quantity import parse_bytes, parse_depth, parse_rate, parse_span, parse_time

_M = TypeVar("_M", bound=Model)


def rules(
    whole: _M,
    field: str,
    overrides: Sequence[Override],
    names: Collection[str],
    spec: Callable[[_M], dict[str, Any]],
    findings: Findings,
) -> list[dict[str, Any]]:
    """The rules of `field` (`switch` or `host`) for the nodes `names`."""
    configs = dict.fromkeys(names, whole)
    matched = [_matched(o, field, i, names, findings) for i, o in enumerate(overrides)]
    times = Counter(name for each in matched for name in each)
    found = [{"pattern": "*", "config": spec(whole)}]
    for index, (override, each) in enumerate(zip(overrides, matched, strict=True)):
        changed: dict[int, _M] = {}
        for name in each:
            before = configs[name]
            if id(before) not in changed:
                changed[id(before)] = _laid_over(before, field, index, findings)
            configs[name] = changed[id(before)]
        if each and "[" not in override.match and all(times[name] == 1 for name in each):
            found.append({"pattern": override.match, "config": spec(configs[each[0]])})
        else:
            found += [{"pattern": name, "config": spec(configs[name])} for name in each]
    return found


def _matched(
    override: Override, field: str, index: int, names: Collection[str], findings: Findings
) -> list[str]:
    try:
        return select(override.match, names, f"a {field}")
    except SelectError as error:
        findings.add((f"{field}_overrides", index, "match"), str(error))
        return []


def _laid_over(before: _M, field: str, index: int, findings: Findings) -> _M:
    place = (f"{field}_overrides", index)
    base = Node.of(before.model_dump(by_alias=True))
    over = findings.document.child(place[0])
    written = over.child(index) if over else None
    entries = dict(written.value) if written and isinstance(written.value, dict) else {}
    entries.pop("match", None)
    try:
        return type(before).model_validate(merge(base, Node(entries, base.mark)).plain())
    except ScenarioError as error:
        findings.extend(error.problems)
    except ValidationError as error:
        findings.extend(problems(error, findings.document, schema_at=(field,), place_at=place))
    return before


def switch_spec(switch: Switch) -> dict[str, Any]:
    """A switch's settings in base units."""
    return {
        "buffer": _buffer(switch.buffer),
        "queue": _queue(switch.queue),
        "class_queues": [[number, _queue(queue)] for number, queue in sorted(switch.class_queues.items())],
        "scheduler": _scheduler(switch.scheduler),
        "pfc": _pfc(switch.pfc) if switch.pfc else None,
    }


def _pfc(pfc: Pfc) -> dict[str, Any]:
    return {
        "classes": sorted(pfc.classes),
        "xoff": _xoff(pfc.xoff),
        "xon": parse_bytes(pfc.xon),
        "headroom": parse_bytes(pfc.headroom),
        "headroom_pool": parse_bytes(pfc.headroom_pool) if pfc.headroom_pool else None,
        "quanta": pfc.quanta,
        "watchdog": _watchdog(pfc.watchdog) if pfc.watchdog else None,
    }


def _xoff(xoff: Xoff) -> dict[str, Any]:
    if isinstance(xoff, StaticXoff):
        return {"kind": "static", "limit": parse_bytes(xoff.limit)}
    return {"kind": "dynamic", "alpha": float(xoff.alpha)}


def _watchdog(watchdog: Watchdog) -> dict[str, Any]:
    return {
        "poll": parse_time(watchdog.poll),
        "detection": parse_time(watchdog.detection),
        "restoration": parse_time(watchdog.restoration),
        "action": watchdog.action,
    }


def _buffer(buffer: Buffer) -> dict[str, Any]:
    if isinstance(buffer, SharedBuffer):
        return {
            "kind": "shared",
            "size": parse_bytes(buffer.size),
            "alpha": float(buffer.alpha),
            "reserve": parse_bytes(buffer.reserve),
            "cell": parse_bytes(buffer.cell),
        }
    if isinstance(buffer, VoqBuffer):
        return {
            "kind": "voq",
            "size": parse_bytes(buffer.size),
            "reserved": float(buffer.reserved),
            "multicast": float(buffer.multicast),
            "cap": parse_bytes(buffer.cap),
            "processors": buffer.processors,
            "alpha": float(buffer.alpha),
            "cell": parse_bytes(buffer.cell),
        }
    if isinstance(buffer, CellsBuffer):
        threshold = buffer.limit * 4 // 5 if buffer.threshold is None else buffer.threshold
        return {
            "kind": "cells",
            "limit": buffer.limit,
            "discard": buffer.discard,
            "threshold": threshold,
            "encapsulation": parse_bytes(buffer.encapsulation),
            "sonet": buffer.sonet,
            "reassembly_timeout": parse_time(buffer.reassembly_timeout),
        }
    return {"kind": "static", "limit": parse_depth(buffer.limit)}


def _queue(queue: Queue) -> dict[str, Any]:
    if isinstance(queue, Step):
        return {"kind": "step", "threshold": parse_depth(queue.threshold)}
    if isinstance(queue, Red):
        return {
            "kind": "red",
            "min": parse_depth(queue.min),
            "max": parse_depth(queue.max),
            "max_p": float(queue.max_p),
            "weight": float(queue.weight),
            "gentle": queue.gentle,
            "ecn": queue.ecn,
        }
    if isinstance(queue, Codel):
        return {
            "kind": "codel",
            "target": parse_time(queue.target),
            "interval": parse_time(queue.interval),
            "ecn": queue.ecn,
        }
    return {"kind": "tail-drop"}


def _scheduler(scheduler: Scheduler) -> dict[str, Any]:
    if isinstance(scheduler, Fifo):
        return {"kind": "fifo"}
    assert isinstance(scheduler, Ets)
    rest = [number for number in range(8) if number not in scheduler.strict]
    weights = [[number, scheduler.weights.get(number, 1)] for number in rest]
    return {"kind": "ets", "strict": sorted(scheduler.strict), "weights": weights}


def host_spec(host: Host) -> dict[str, Any]:
    """A host's settings in base units."""
    return {
        "mtu": parse_bytes(host.mtu),
        "nic_queue": parse_bytes(host.nic_queue),
        "cores": host.cores,
        "disk": parse_rate(host.disk),
        "packet_cost": parse_time(host.packet_cost),
        "time_slice": parse_time(host.time_slice),
        "tcp": _tcp(host.tcp),
    }


def _tcp(tcp: Tcp) -> dict[str, Any]:
    rack = tcp.sack if tcp.rack is None else tcp.rack
    probe = rack if tcp.tail_loss_probe is None else tcp.tail_loss_probe
    ecn = tcp.ecn if tcp.ecn != "auto" else "on" if tcp.congestion == "dctcp" else "passive"
    return {
        "congestion": tcp.congestion,
        "ecn": ecn,
        "ecn_fallback": tcp.ecn_fallback,
        "sack": tcp.sack,
        "rack": rack,
        "tail_loss_probe": probe,
        "limited_transmit": tcp.limited_transmit,
        "fast_retransmit": None if tcp.fast_retransmit == "off" else tcp.fast_retransmit,
        "timestamps": tcp.timestamps,
        "initial_window": tcp.initial_window,
        "hystart": tcp.hystart,
        "rto_initial": parse_span(tcp.rto_initial),
        "rto_min": parse_span(tcp.rto_min),
        "rto_max": parse_span(tcp.rto_max),
        "clock_tick": parse_time(tcp.clock_tick),
        "ack_every": tcp.ack_every,
        "delayed_ack": parse_time(tcp.delayed_ack),
        "receive_buffer": parse_bytes(tcp.receive_buffer),
        "receive_buffer_max": parse_bytes(tcp.receive_buffer_max),
        "send_buffer": parse_bytes(tcp.send_buffer),
        "dctcp_shift": tcp.dctcp_shift,
        "htcp_rtt_scaling": tcp.htcp_rtt_scaling,
    }
