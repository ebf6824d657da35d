"""A long path: incast broadcast compared with curl, one receiver, a round trip of 100 ms.

Kernels without netem(8) can't delay packets, so a program does: two namespaces have a TUN device each
(Documentation/networking/tuntap.rst), and what enters one leaves the other after the delay, no faster than
the link's rate, from a queue that drops at its tail. Both programs go through it in turn: what it costs, both
pay.

    python -m benches.broadcast.far --rates 10,30 --seconds 8
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import filecmp
import json
import os
import selectors
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from testkit.namespaces import PREFIX, remove, run, sweep, unavailable

from benches.broadcast.report import FAR_METRIC
from benches.broadcast.rows import keep, row

COMMAND = "python -m benches.broadcast.far"
TRIP_S = 0.1
#: Of curl's rate that ours is to have.
SHARE = 0.95
#: Of the queue in front of each direction's link, in round trips of it.
QUEUE_TRIPS = 1.0
#: if_tun.h: make a device of this name and kind; packets without a header.
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
NET = "10.78.0"
PORT = 8000
BITS = 8


def device(namespace: str, address: str) -> int:
    """A TUN device in a namespace, open here: a descriptor stays where it was made."""
    found: list[int] = []

    def make() -> None:
        # Of this thread alone (setns(2)).
        with Path(f"/run/netns/{namespace}").open() as entry:
            if ctypes.CDLL(None, use_errno=True).setns(entry.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), namespace)
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"far0", IFF_TUN | IFF_NO_PI))
        found.append(tun)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    ip = ["ip", "-n", namespace]
    run([*ip, "addr", "add", f"{address}/24", "dev", "far0"])
    run([*ip, "link", "set", "far0", "up", "txqueuelen", "10000"])
    run([*ip, "link", "set", "lo", "up"])
    return found[0]


class Direction:
    """A link one way: what comes waits for its rate, then for the delay."""

    def __init__(self, rate: int, delay_s: float) -> None:
        self.rate, self.delay_s = rate, delay_s
        self.free = 0.0
        self.waiting: deque[tuple[float, bytes]] = deque()

    def take(self, packet: bytes, now: float) -> None:
        """Puts a packet on the link, or drops it."""
        if self.free - now > TRIP_S * QUEUE_TRIPS:
            return
        self.free = max(self.free, now) + len(packet) * BITS / self.rate
        self.waiting.append((self.free + self.delay_s, packet))

    def due(self, now: float) -> Iterator[bytes]:
        """What has arrived."""
        while self.waiting and self.waiting[0][0] <= now:
            yield self.waiting.popleft()[1]


def forward(ends: tuple[int, int], rate: int, over: threading.Event) -> None:
    """Carries packets between two devices."""
    ways = {ends[0]: (ends[1], Direction(rate, TRIP_S / 2)), ends[1]: (ends[0], Direction(rate, TRIP_S / 2))}
    with selectors.DefaultSelector() as selector:
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        while not over.is_set():
            firsts = [way.waiting[0][0] for _, way in ways.values() if way.waiting]
            wait = min([first - time.monotonic() for first in firsts], default=0.05)
            for key, _ in selector.select(max(wait, 0.0)):
                _, way = ways[key.fd]
                try:
                    while True:
                        way.take(os.read(key.fd, 1 << 16), time.monotonic())
                except BlockingIOError:
                    pass
            now = time.monotonic()
            for other, way in ways.values():
                for packet in way.due(now):
                    os.write(other, packet)


@contextmanager
def path(rate: int) -> Iterator[list[str]]:
    """Two namespaces with the path between them; their names."""
    sweep()
    names = [f"{PREFIX}-{os.getpid()}-far-{end}" for end in ("source", "receiver")]
    over = threading.Event()
    ends: list[int] = []
    carrier = threading.Thread(target=lambda: forward((ends[0], ends[1]), rate, over))
    try:
        for number, name in enumerate(names, 1):
            run(["ip", "netns", "add", name])
            ends.append(device(name, f"{NET}.{number}"))
        carrier.start()
        yield names
    finally:
        over.set()
        if carrier.ident is not None:
            carrier.join()
        remove(names)
        for end in ends:
            os.close(end)


def curl_s(names: list[str], folder: Path) -> float:
    """Seconds that curl takes from a web server, as it says itself."""
    server = [sys.executable, "-m", "http.server", str(PORT), "--directory", str(folder)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(["ip", "netns", "exec", names[0], *server], stdout=quiet, stderr=quiet) as child:
        try:
            there = ["--retry", "20", "--retry-connrefused", "--retry-delay", "1"]
            get = ["curl", "-sS", *there, "-o", str(folder / "got"), "-w", "%{time_total}"]
            said = run(["ip", "netns", "exec", names[1], *get, f"http://{NET}.1:{PORT}/file"])
        finally:
            child.kill()
    return float(said)


def ours_s(names: list[str], folder: Path) -> float:
    """Seconds that the receiver took, from the beginning until it had everything."""
    (folder / "hosts.txt").write_text(f"{names[1]} receiver\n")
    program = f"{sys.executable} -m incast"
    words = ["ip", "netns", "exec", names[0], *program.split(), "broadcast", str(folder / "file")]
    words += ["--to", str(folder / "hosts.txt"), "--rsh", "ip netns exec {host}", "--incast", program]
    words += ["--address", f"{NET}.1", "--dest", str(folder / "copy"), "--json"]
    said = json.loads(run(words))["receivers"][0]
    if said["state"] != "complete" or not filecmp.cmp(folder / "file", folder / "copy", shallow=False):
        raise SystemExit(f"no copy: {said}")
    return float(said["seconds"])


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", default="10,30", help="of the link, in Mb/s")
    parser.add_argument("--seconds", type=float, default=8, help="for which the file is long enough")
    asked = parser.parse_args()
    why = unavailable() or (None if shutil.which("curl") else "no curl") or None
    if why:
        print(f"long paths are left out: {why}")
        return
    for mbps in map(int, asked.rates.split(",")):
        with tempfile.TemporaryDirectory(prefix="incast-bench-") as place, path(mbps * 10**6) as names:
            folder = Path(place)
            (folder / "file").write_bytes(os.urandom(int(asked.seconds * mbps * 10**6 / BITS)))
            curl, ours = curl_s(names, folder), ours_s(names, folder)
        case = f"{mbps} Mb/s, {asked.seconds:g} s, round trip of {TRIP_S * 1000:g} ms"
        print(f"{case}: curl {curl:.2f} s, ours {ours:.2f} s: {curl / ours:.2f}", flush=True)
        target = (SHARE, curl / ours >= SHARE)
        keep([row(case, FAR_METRIC, "s", ours, ("curl", curl), target, COMMAND)])


if __name__ == "__main__":
    main()
