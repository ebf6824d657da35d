"""Agents that wait: everyone with their key may send a file to their machine, into a folder.

A launcher connects and proves that it knows the key, as members of a run do (`incast.live.control`). It says
where it is and which run it is; the run's key is derived from the agent's, so it does not cross the network.
The member itself is a process of its own, which connects to the launcher like any other.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing import AuthenticationError
from pathlib import Path

from incast.broadcast.shell import with_way_out
from incast.errors import RunError
from incast.live.control import Channel, ChannelClosedError, Door, Frame, connect
from incast.live.member import Bounds
from incast.live.member import serve as take_part

POLL_S = 0.5
WORKS = ("incast.broadcast.member:prepare", "incast.broadcast.measure:prepare")
"""The only work that such an agent does."""


def join() -> int:
    """Takes part in the one broadcast of which standard input tells in a line; returns an exit code."""
    # What the terminal of the sender says is the launcher's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        said = json.loads(sys.stdin.readline())
        address, key, host = (said["ip"], said["port"]), bytes.fromhex(said["key"]), said["host"]
    except (ValueError, KeyError, TypeError):
        print("standard input tells of no broadcast: --listen waits for some", file=sys.stderr)
        return 2
    try:
        return take_part(address, key, host, bounds=Bounds(works=WORKS))
    except RunError as error:
        print(error, file=sys.stderr)
        return 1


def run_key(key: bytes, salt: bytes) -> bytes:
    """The key of a run, from the agents' key."""
    return hmac.digest(key, b"incast broadcast" + salt, "sha256")


def serve(ip: str, port: int, key: bytes, root: Path, ready: Callable[[tuple[str, int]], None]) -> None:
    """Waits for launchers until it is interrupted."""
    door = Door(ip, key, port)
    ready(door.address)
    try:
        while True:
            # A wait without an end would not hear of Ctrl-C.
            with contextlib.suppress(queue.Empty):
                channel = door.arrived.get(timeout=POLL_S)
                threading.Thread(target=_serve_one, args=(channel, key, root), daemon=True).start()
    finally:
        door.close()


def _serve_one(channel: Channel, key: bytes, root: Path) -> None:
    """Starts a member for a launcher, and tells it how that ended."""
    try:
        frame = channel.receive(10)
        if frame["type"] != "start":
            return channel.close()
        run = run_key(key, bytes.fromhex(frame["salt"]))
        told = {"ip": frame["ip"], "port": frame["port"], "key": run.hex(), "host": frame["host"]}
    except (ChannelClosedError, TimeoutError, KeyError, ValueError, TypeError):
        return channel.close()
    child = subprocess.Popen(
        [sys.executable, "-m", "incast.live"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=root,
        process_group=0,
    )
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write((json.dumps({**told, "root": str(root), "works": WORKS}) + "\n").encode())
        child.stdin.close()
    threading.Thread(target=_kill_when_told, args=(channel, child), daemon=True).start()
    assert child.stderr is not None
    lines = [
        line.strip() for line in child.stderr.read().decode(errors="replace").splitlines() if line.strip()
    ]
    with contextlib.suppress(ChannelClosedError):
        channel.send({"type": "ended", "code": child.wait(), "said": lines[-1] if lines else ""})
    child.wait()
    return channel.close()


def _kill_when_told(channel: Channel, child: subprocess.Popen[bytes]) -> None:
    """A launcher that is gone says nothing: then the member goes on, for as long as that makes sense."""
    with contextlib.suppress(ChannelClosedError):
        while channel.receive()["type"] != "kill":
            continue
        child.kill()


class WaitingChild:
    """A member that a waiting agent starts."""

    def __init__(self, agent: tuple[str, int], key: bytes, told: Frame) -> None:
        self._over = threading.Event()
        self._code: int | None = None
        self._said = ""
        self._channel: Channel | None = None
        self._killed = False
        threading.Thread(target=self._run, args=(agent, key, told), daemon=True).start()

    def _run(self, agent: tuple[str, int], key: bytes, told: Frame) -> None:
        try:
            self._channel = connect(agent, key)
            self._channel.send({"type": "start", **told})
            if self._killed:
                self.kill()
            ended = self._channel.receive()
            self._code, self._said = int(ended["code"]), str(ended["said"])
        except AuthenticationError:
            self._said = "its agent has another key"
        except ChannelClosedError:
            self._said = "its agent is gone"
        except OSError as error:
            self._said = f"no agent answers: {(error.strerror or str(error)).lower()}"
        except (KeyError, ValueError, TypeError):
            self._said = "what answers is no agent of incast"
        finally:
            self._code = 1 if self._code is None else self._code
            self._over.set()

    def poll(self) -> int | None:
        """The member's exit code; `None` while it runs."""
        return self._code if self._over.is_set() else None

    def kill(self) -> None:
        """Ends the member at once."""
        self._killed = True
        if self._channel:
            with contextlib.suppress(ChannelClosedError):
                self._channel.send({"type": "kill"})

    def wait(self, timeout: float | None = None) -> int:
        """The member's exit code, when it has ended."""
        if self._killed and not self._channel:
            return 1
        if not self._over.wait(timeout):
            raise subprocess.TimeoutExpired("an agent", timeout or 0)
        return self._code or 0

    def said(self) -> str:
        """Why it has ended, and what helps."""
        return with_way_out(self._said)
