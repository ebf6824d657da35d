"""The kernels of emulated hosts: where they are, and whether they can do what is needed."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from pathlib import Path

from incast.bounded import read_bytes, read_text

VARIABLE = "INCAST_LINUX"
"""The environment's variable that names the kernel's program."""
_PLACE = Path(sys.prefix) / "share" / "incast" / "linux"
BPF_VARIABLE = "INCAST_BPF"
"""The environment's variable that names the folder of congestion controls as BPF programs."""
LIBBPF = "libbpf.so.1"
"""The library that loads them."""
_BPF_PLACE = Path(sys.prefix) / "share" / "incast" / "bpf"
_IN_BPF = ("dctcp", "htcp")
_BYTES_MAX = 256 << 20
_MODULES_MAX = 64 << 20
_LIST_MAX = 1 << 16
_CLOCK = b"time-travel=ext:"
"""Stands in a kernel whose clock can be somebody else's (arch/um/kernel/time.c)."""
_OURS = b"time travel: queues in the page"
"""Stands in one that today's packaging/uml.py has built."""

_ALLOWED_NAME = "net.ipv4.tcp_allowed_congestion_control"
_ALLOWED = Path("/proc/sys") / _ALLOWED_NAME.replace(".", "/")
_AVAILABLE = _ALLOWED.with_name("tcp_available_congestion_control")


def find() -> Path | None:
    """The kernel's program, or `None` where there is none."""
    # Each guest runs in a folder of its own.
    place = Path(os.environ.get(VARIABLE) or _PLACE).absolute()
    return place if place.is_file() else None


def _has(kernel: Path, words: bytes) -> bool:
    try:
        return words in read_bytes(kernel, _BYTES_MAX)
    except OSError:
        return False


def lacking() -> str:
    """What stands in the way of emulated hosts here, with the way out; empty where nothing does."""
    kernel = find()
    if kernel is None:
        place = os.environ.get(VARIABLE)
        there = f"{VARIABLE} is {place}, which is no file" if place else f"there is none at {_PLACE}"
        return f"emulated hosts need their kernel, and {there}: make uml builds it"
    if not os.access(kernel, os.X_OK):
        return f"{kernel} can't be run: chmod +x {kernel}"
    if not _has(kernel, _CLOCK):
        return f"{kernel} is no kernel of emulated hosts, or has no time travel: make uml builds one"
    if not _has(kernel, _OURS):
        return f"{kernel} was built for an earlier incast: remove it, and make uml builds another"
    return ""


def bpf(congestion: str) -> Path:
    """Where `make bpf` puts a congestion control that is a BPF program."""
    return Path(os.environ.get(BPF_VARIABLE) or _BPF_PLACE) / f"{congestion}.bpf.o"


def needs_bpf(congestion: str) -> bool:
    """Whether this machine's own kernel has no such congestion control, neither built in nor as a module."""
    if congestion not in _IN_BPF or congestion in read_text(_AVAILABLE, _LIST_MAX).split():
        return False
    try:
        modules = read_text(Path("/lib/modules") / platform.release() / "modules.dep", _MODULES_MAX)
    except OSError:
        return True
    return f"/tcp_{congestion}.ko" not in modules


def not_allowed(congestion: str) -> str:
    """Why hosts on this machine's own kernel can't have this congestion control; empty where they can."""
    allowed = read_text(_ALLOWED, _LIST_MAX).split()
    if congestion in allowed:
        return ""
    if needs_bpf(congestion):
        return _no_bpf(congestion)
    return (
        f"{congestion} is not allowed in networks of their own on this machine, which hosts have with a real "
        f"clock: allowed are {', '.join(allowed)}. As root: modprobe tcp_{congestion}; "
        f"sysctl {_ALLOWED_NAME}='{' '.join([*allowed, congestion])}'"
    )


def _no_bpf(congestion: str) -> str:
    """Why a congestion control can't be registered as a BPF program; empty where it can."""
    program = bpf(congestion)
    if not program.is_file():
        return (
            f"{congestion} is not in this machine's kernel, which hosts have with a real clock, and there is "
            f"no BPF program for it at {program}: make bpf builds it"
        )
    try:
        ctypes.CDLL(LIBBPF)
    except OSError:
        return f"{congestion} as a BPF program needs {LIBBPF}: apt-get install libbpf1"
    return ""
