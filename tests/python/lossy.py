"""Loss between processes of this machine: the kernel throws away a share of the datagrams that come to their sockets.

A classic BPF filter on each UDP socket draws a random number for each datagram. It is put there from outside, by a
descriptor of the same socket (pidfd_getfd(2)), so the program knows nothing of it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from incast.live.launch import Child, start_here

_PIDFD_GETFD = 438
_SO_ATTACH_FILTER = 26
_UDP_GRO = 104
# linux/filter.h: loads a random number, compares, returns the bytes to keep.
_LOAD, _RANDOM, _ABOVE, _RETURN = 0x20, 0xFFFFF000 + 56, 0x25, 0x06


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def starts(share: float) -> Callable[[int, tuple[str, int], bytes], Child]:
    """Starts members to whom this share of datagrams does not come."""

    def start(host: int, address: tuple[str, int], key: bytes) -> Child:
        child = start_here(host, address, key)
        assert isinstance(child, subprocess.Popen)
        threading.Thread(target=_attach, args=(child, share), daemon=True).start()
        return child

    return start


def _attach(child: subprocess.Popen[bytes], share: float) -> None:
    """Waits for a process's UDP sockets, and has each of them lose datagrams."""
    pid = os.pidfd_open(child.pid)
    libc = ctypes.CDLL(None, use_errno=True)
    known: set[str] = set()
    while child.poll() is None:
        for number in _sockets(child.pid) - known:
            known.add(number)
            fd = libc.syscall(_PIDFD_GETFD, pid, int(number), 0)
            if fd < 0:
                # Closed in the meantime; the next socket may get its number.
                if (error := ctypes.get_errno()) in (errno.EBADF, errno.ESRCH):
                    known.discard(number)
                    continue
                raise OSError(error, "pidfd_getfd")
            with socket.socket(fileno=fd) as end:
                if end.type == socket.SOCK_DGRAM and end.family == socket.AF_INET:
                    _lose(end, share)
        time.sleep(0.002)


def ports(pid: int) -> list[int]:
    """The ports of a process's UDP sockets."""
    own = set()
    try:
        for number in _sockets(pid):
            own.add(str(Path(f"/proc/{pid}/fd/{number}").readlink())[len("socket:[") : -1])
        lines = Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]
    except OSError:
        return []
    return [int(line.split()[1].partition(":")[2], 16) for line in lines if line.split()[9] in own]


def _sockets(pid: int) -> set[str]:
    found = set()
    try:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            if str(link.readlink()).startswith("socket:"):
                found.add(link.name)
    except OSError:
        pass
    return found


def _lose(end: socket.socket, share: float) -> None:
    # Each datagram by itself, not trains.
    end.setsockopt(socket.IPPROTO_UDP, _UDP_GRO, 0)
    below = min(int(share * 2**32), 2**32 - 1)
    code = b"".join(
        struct.pack("HBBI", *each)
        for each in (
            (_LOAD, 0, 0, _RANDOM),
            # A number above the share lets the datagram in.
            (_ABOVE, 0, 1, below),
            (_RETURN, 0, 0, 0xFFFFFFFF),
            (_RETURN, 0, 0, 0),
        )
    )
    held = ctypes.create_string_buffer(code)
    program = _Program(4, ctypes.cast(held, ctypes.c_void_p))
    end.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, bytes(program))
