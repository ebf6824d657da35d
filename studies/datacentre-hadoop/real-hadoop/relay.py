"""A pure delay on the links towards some hosts, where the kernel has no netem: frames between pairs of TAPs.

What comes from the switch's side waits `delay` seconds, as a file says that is read ten times a second; what
goes to the switch does not wait. No loss, no limit of rate, first in, first out.
"""

import contextlib
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque
from pathlib import Path

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
LARGEST, BATCH = 65_600, 64


def tap(name: str) -> int:
    """Opens a TAP device of this name."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return device


def frames(device: int):
    """What waits at a device."""
    for _ in range(BATCH):
        try:
            yield os.read(device, LARGEST)
        except OSError:
            return


def send(device: int, frame: bytes) -> None:
    """A device that is down takes nothing."""
    with contextlib.suppress(OSError):
        os.write(device, frame)


def relay(hosts: list[str], delay_file: Path) -> None:
    """Forwards for ever."""
    to_host, to_switch = {}, {}
    for host in hosts:
        switch_side, host_side = tap(f"s-{host}"), tap(f"h-{host}")
        to_host[switch_side], to_switch[host_side] = host_side, switch_side
    waiting: deque[tuple[float, int, bytes]] = deque()
    delay, look = 0.0, 0.0
    while True:
        now = time.monotonic()
        if now >= look:
            delay, look = float(delay_file.read_text()), now + 0.1
        while waiting and waiting[0][0] <= now:
            _, device, frame = waiting.popleft()
            send(device, frame)
        until = min(look, waiting[0][0]) if waiting else look
        ready, _, _ = select.select([*to_host, *to_switch], [], [], max(0.0, until - time.monotonic()))
        now = time.monotonic()
        for device in ready:
            if device in to_switch:
                for frame in frames(device):
                    send(to_switch[device], frame)
            else:
                for frame in frames(device):
                    waiting.append((now + delay, to_host[device], frame))


if __name__ == "__main__":
    relay(sys.argv[2:], Path(sys.argv[1]))
