"""A member of a live run: a process that the launcher has started, here or on another machine.

It is told its number and its work, prepares it, says where its sockets are, and runs when all members
are ready. A thread of its own reads the control channel while the work runs without the Python lock. When the
launcher is gone the member ends.
"""

from __future__ import annotations

import importlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from typing import Protocol, runtime_checkable

from incast import __version__, _core
from incast.errors import IncastError, RunError
from incast.live.control import Channel, ChannelClosedError, Frame, connect, place, stream_key, stream_secret

ALIVE_S = 2.0
"""Between two signs of life while a member prepares its work."""
PATIENCE_S = 600.0
"""A member waits this long for the others to get ready."""
AGAIN_S = 1.0
"""A member that goes on without its launcher looks so often whether that is there after all."""
ANSWER_S = 10.0
"""A launcher that was found again says within it whether the member is still wanted."""


class Work(Protocol):
    """What a member does, ready to run."""

    def __call__(self, member: _core.LiveMember, begin: str, progress: Callable[[str], bool]) -> str:
        """Runs until told to stop; returns the report as JSON."""
        ...


@runtime_checkable
class Hears(Protocol):
    """Work that can be told something while it is done."""

    def hear(self, told: Frame) -> None:
        """What the launcher says; called in a thread of its own."""
        ...


@runtime_checkable
class Outlives(Protocol):
    """Work that goes on when the launcher is gone, and ends by itself.

    When only the connection was gone, it goes on as before, unless the launcher has started somebody in its
    place.
    """

    def orphaned(self) -> None:
        """There is nobody left to tell; called in a thread of its own."""
        ...

    def adopted(self) -> None:
        """The launcher is there again; called in the same thread."""
        ...


@dataclass(frozen=True)
class Bounds:
    """What a launcher may make a member do; said by the process that started the member."""

    works: Sequence[str] | None = None
    """The names of the work that it may do; any of this package when there are none."""
    root: str | None = None
    """Files are written below this folder; anywhere when there is none."""


ANY = Bounds()


def serve(
    address: tuple[str, int], key: bytes, host: int, ip: str | None = None, bounds: Bounds = ANY
) -> int:
    """Takes part in a run as `host`; returns an exit code.

    The process that started it may know this machine's address. Otherwise it is the one that reaches the
    launcher.
    Raises `RunError` when that does not answer.
    """
    channel = _reach(address, key)
    ip = ip or channel.local_ip()
    channel.send({"type": "hello", "host": host, "version": __version__, "pid": os.getpid(), "ip": ip})
    try:
        return _take_part(channel, address, key, bounds)
    except (ChannelClosedError, TimeoutError):
        return 1
    except IncastError as error:
        _tell(channel, {"type": "error", "message": str(error)})
        return 1
    except Exception as error:  # Whatever it is, the launcher says which host failed and why.
        _tell(channel, {"type": "error", "message": f"{type(error).__name__}: {error}"})
        return 1


def _reach(address: tuple[str, int], key: bytes) -> Channel:
    try:
        return connect(address, key)
    except AuthenticationError:
        raise RunError(f"{place(address)}: the launcher there has another key") from None
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise RunError(f"{place(address)}: this host can't reach the launcher there: {why}") from None


def _take_part(channel: Channel, address: tuple[str, int], key: bytes, bounds: Bounds) -> int:
    init = channel.receive(PATIENCE_S)
    with _alive(channel):
        work = _find(init["work"], bounds)({**init, "root": bounds.root})
    settings = json.dumps(init["settings"])
    if init["address"] is not None:
        member = _core.LiveMember.at(json.dumps(init["address"]), settings)
    else:
        member = _core.LiveMember(init["host"], init["ip"], init["ports"], settings)
    channel.send({"type": "ready", "address": json.loads(member.address())})
    begin = channel.receive(PATIENCE_S)
    if begin["type"] != "begin":
        return 0

    line = [channel]

    def listen() -> None:
        _listen(channel, member, work)
        while isinstance(work, Outlives):
            work.orphaned()
            again = _find_again(address, key, init, member)
            if again is None:
                break
            line[0] = again
            work.adopted()
            _listen(again, member, work)
        member.stop()

    threading.Thread(target=listen, daemon=True).start()

    def progress(now: str) -> bool:
        try:
            line[0].send({"type": "progress", "progress": json.loads(now)})
        except ChannelClosedError:
            return isinstance(work, Outlives)
        return True

    secrets = {"key": list(stream_key(key)), "secret": list(stream_secret(key))}
    told = {**begin["begin"], **secrets}
    report = work(member, json.dumps(told), progress)
    line[0].send({"type": "report", "report": json.loads(report)})
    return 0


@contextmanager
def _alive(channel: Channel) -> Iterator[None]:
    """Says now and then that the member is there, while its work is prepared: that may take long."""
    over = threading.Event()

    def say() -> None:
        while not over.wait(ALIVE_S):
            _tell(channel, {"type": "preparing"})

    threading.Thread(target=say, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _find(name: str, bounds: Bounds) -> Callable[[Frame], Work]:
    """The function `module:function` of this package that prepares the work."""
    module, _, function = name.partition(":")
    known = name.startswith("incast.") if bounds.works is None else name in bounds.works
    if not known:
        raise ValueError(f"{name!r} is not of this package, or not for this member")
    found: Callable[[Frame], Work] = getattr(importlib.import_module(module), function)
    return found


def _listen(channel: Channel, member: _core.LiveMember, work: Work) -> None:
    """Passes on what the launcher says, until it is gone."""
    while True:
        try:
            frame = channel.receive()
        except ChannelClosedError:
            return
        match frame["type"]:
            case "stop":
                member.stop()
            case "lost":
                member.lost(frame["host"])
            case "moved":
                member.moved(json.dumps(frame["address"]))
            case "tell" if isinstance(work, Hears):
                work.hear(frame["told"])


def _find_again(
    address: tuple[str, int], key: bytes, init: Frame, member: _core.LiveMember
) -> Channel | None:
    """A connection to a launcher that was gone, once it answers; `None` when it does not want this life."""
    while True:
        try:
            channel = connect(address, key)
            channel.send({"type": "hello", "host": init["host"], "life": init["life"]})
            answer = channel.receive(ANSWER_S)
        except (OSError, AuthenticationError, ChannelClosedError, TimeoutError):
            time.sleep(AGAIN_S)
            continue
        if answer["type"] != "back":
            return None
        for moved in answer["addresses"]:
            member.moved(json.dumps(moved))
        return channel


def _tell(channel: Channel, frame: Frame) -> None:
    try:
        channel.send(frame)
    except ChannelClosedError:
        return
