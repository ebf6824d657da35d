"""A live run under way: brings its members together, watches over them, and collects their reports.

Not here: what is to be started, and what comes out (`launch`).
"""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from incast import __version__
from incast.errors import RunError
from incast.live.control import Channel, ChannelClosedError, Door, Frame
from incast.live.launch import Child, FailedRunError, Host, Launch, Outcome, Says, Tick, Watch

OWN_RESTARTS = 2
"""Crashes of a host that is not needed after which it is started anew."""
LIVES_MAX = 5
"""Lives in a row of a host that is needed: when it was ready in none of them, it is given up. So is one that has
died twice and needed longer than the patience of the run for it."""
HEAD_START_S = 0.2
"""Between the word to begin and time zero: it has to reach all members."""


@dataclass
class Member:
    """The process of a host, and what it has said so far."""

    host: Host
    child: Child
    channel: Channel | None = None
    address: dict[str, Any] | None = None
    ready: bool = False
    finished: bool = False
    heard: float = 0.0
    progress: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] | None = None
    life: int = 0
    fruitless: int = 0
    """Lives before this one, one after the other, in which it was never ready."""
    since: float = 0.0
    """When the first of these lives began; of a host that was ready, this one."""
    failed: str | None = None
    """Why the run goes on without it."""
    met: bool = False
    """It came in, in this life or one before."""


class Running:
    """A run under way. One thread a member reads its channel; all else happens in the caller's thread."""

    def __init__(self, launch: Launch, watch: Watch | None, stop: threading.Event, tick: Tick | None) -> None:
        self.launch = launch
        self.watch = watch
        self.stop = stop
        self.tick = tick
        self.told: list[Frame] = []
        self.key = launch.key
        self.door = Door(launch.ip, self.key)
        self.events: queue.SimpleQueue[tuple[int, Channel, Frame]] = queue.SimpleQueue()
        self.members: dict[int, Member] = {}
        self.crashes: dict[int, int] = {}
        self.start_ns = 0
        self.enough_since: float | None = None
        self.stopping = False

    def run(self) -> Outcome:
        """From the first process to the last report."""
        try:
            for host in self.launch.hosts:
                self.members[host.number] = self._new(host)
            self._until(self._gathered)
            finished = not self.stopping and self._go()
            self._end()
            if finished:
                self._check_reports()
            return self._outcome(finished)
        except RunError as error:
            if not self.start_ns:
                raise
            # Those that are left hand over what they have measured.
            with contextlib.suppress(RunError):
                self._end()
            raise FailedRunError(str(error), self._outcome(False)) from None
        finally:
            self.door.close()
            for member in self.members.values():
                self._bury(member)

    def _gathered(self) -> bool:
        """Whether the run may begin: all are there, or enough of them, and the others had their time."""
        awaited = [member for member in self.members.values() if member.host.awaited]
        others = [member for member in self.members.values() if not member.host.awaited]
        if others and all(member.failed is not None for member in others):
            raise RunError("\n".join(f"{member.host.name}: {member.failed}" for member in others))
        enough = all(member.ready for member in awaited) and (not others or any(o.ready for o in others))
        if not enough:
            return False
        self.enough_since = self.enough_since or time.monotonic()
        late = time.monotonic() - self.enough_since > self.launch.gather_s
        return late or all(member.ready or member.failed is not None for member in others)

    def _new(self, host: Host, before: Member | None = None) -> Member:
        child = self.launch.start(host.number, self.door.address, self.key)
        now = time.monotonic()
        member = Member(host, child, heard=now, since=now)
        if before:
            member.address, member.life, member.met = before.address, before.life + 1, before.met
            if not before.ready:
                member.fruitless, member.since = before.fruitless + 1, before.since
        return member

    def _go(self) -> bool:
        """All are ready: they begin together. Whether all have finished in the end."""
        self.start_ns = time.time_ns() + int(HEAD_START_S * 1e9)
        for member in self.members.values():
            if member.ready:
                self._begin(member)
        limit = self.launch.limit_s
        end = None if limit is None else time.monotonic() + HEAD_START_S + limit

        def over() -> bool:
            late = end is not None and time.monotonic() >= end
            return late or self._finished()

        self._until(over)
        return not self.stopping and self._finished()

    def _finished(self) -> bool:
        return all(member.finished or member.failed is not None for member in self.members.values())

    def _begin(self, member: Member) -> None:
        addresses = [each.address for each in self.members.values() if each.address is not None]
        begin = {"addresses": addresses, "start_ns": self.start_ns}
        self._send(member, {"type": "begin", "begin": begin})
        for told in self.told:
            self._send(member, {"type": "tell", "told": told})
        member.heard = time.monotonic() + HEAD_START_S

    def _tell(self, told: Frame) -> None:
        """To all members, and later to those that are started anew."""
        self.told.append(told)
        for member in self.members.values():
            if member.ready:
                self._send(member, {"type": "tell", "told": told})

    def _end(self) -> None:
        """Stops all members and waits for what they have to say."""
        self.stopping = True
        for member in self.members.values():
            self._send(member, {"type": "stop"})
            member.heard = time.monotonic()
        waits = self.start_ns > 0
        while waits and any(self._owes(member) for member in self.members.values()):
            self._step()

    def _check_reports(self) -> None:
        """Who has finished may yet have died with what it had found."""
        if self._is_found():
            return
        for member in self.members.values():
            if member.report is None and member.failed is None:
                raise RunError(f"{member.host.name} is gone: it died before it had reported")

    def _bury(self, member: Member) -> None:
        """A member that has reported ends by itself; any other is ended."""
        if member.channel:
            member.channel.close()
        if member.report is None:
            member.child.kill()
        try:
            member.child.wait(self.launch.farewell_s)
        except subprocess.TimeoutExpired:
            member.child.kill()
            member.child.wait()

    def _owes(self, member: Member) -> bool:
        """Whether a report may still come."""
        if (
            member.report is not None
            or member.channel is None
            or not member.ready
            or member.failed is not None
        ):
            return False
        if time.monotonic() - member.heard > self.launch.patience_s:
            if self._is_vital(member):
                raise RunError(f"{member.host.name} has not reported within {self.launch.patience_s:g} s")
            return False
        return True

    def _until(self, over: Callable[[], bool]) -> None:
        """Sees to what happens until it is over, or somebody wants to stop."""
        while not over():
            if self.stop.is_set():
                self.stopping = True
                return
            try:
                self._step()
                self._look()
                if self.tick and self.start_ns:
                    self.tick(self._tell)
            except KeyboardInterrupt:
                self.stopping = True
                return

    def _step(self) -> None:
        """Handles one frame, or one member that has come in."""
        while not self.door.arrived.empty():
            self._welcome(self.door.arrived.get())
        try:
            number, channel, frame = self.events.get(timeout=0.02)
        except queue.Empty:
            return
        member = self.members[number]
        if member.channel is channel:
            member.heard = max(member.heard, time.monotonic())
            self._handle(member, frame)

    def _handle(self, member: Member, frame: Frame) -> None:
        match frame["type"]:
            case "ready":
                self._ready(member, frame["address"])
            case "progress":
                member.progress = frame["progress"]
                member.finished = bool(frame["progress"]["finished"])
                if self.watch:
                    self.watch({n: each.progress for n, each in self.members.items() if each.progress})
            case "report" if self.stopping:
                member.report = frame["report"]
            case "report":
                self._crashed(member, "was ended from outside")
            case "error" if self._is_vital(member):
                raise RunError(f"{member.host.name}: {frame['message']}")
            case "error":
                self._give_up(member, frame["message"])
            case "gone":
                self._gone(member, frame["message"])

    def _welcome(self, channel: Channel) -> None:
        """A member has connected: its first frame says whose it is."""
        try:
            hello = channel.receive(self.launch.patience_s)
            member = self.members.get(hello.get("host", -1))
            if hello["type"] != "hello" or member is None or member.ready or member.failed is not None:
                return channel.close()
        except (ChannelClosedError, TimeoutError):
            return channel.close()
        if member.channel:
            # A life before this one died when it had just connected: its channel was taken for this one's.
            member.channel.close()
        member.channel, member.met = channel, True
        member.heard = time.monotonic()
        threading.Thread(target=self._read, args=(member, channel), daemon=True).start()
        host = member.host
        if (version := hello.get("version")) != __version__:
            message = f"it has incast {version}, and {__version__} is here: both need the same version"
            return self._handle(member, {"type": "error", "message": message})
        ip = hello.get("ip") or host.ip
        # Where it was, if it is on the same machine again: then others need not be told.
        same = member.address is not None and member.address["ip"] == ip
        self._send(
            member,
            {
                "type": "init",
                "host": host.number,
                "name": host.name,
                "ip": ip,
                "ports": list(host.ports),
                "settings": dict(self.launch.settings),
                "address": member.address if same else None,
                "life": member.life,
                "work": self.launch.work,
                "told": dict(host.work),
            },
        )
        return None

    def _read(self, member: Member, channel: Channel) -> None:
        number = member.host.number
        try:
            while True:
                self.events.put((number, channel, channel.receive()))
        except (ChannelClosedError, TypeError) as error:
            self.events.put((number, channel, {"type": "gone", "message": str(error)}))

    def _ready(self, member: Member, address: dict[str, Any]) -> None:
        member.address, member.ready = address, True
        if self.start_ns:
            # They are told first: whoever comes from an address that they don't know is a stranger.
            for other in self.members.values():
                if other is not member and other.ready:
                    self._send(other, {"type": "moved", "address": address})
            self._begin(member)

    def _look(self) -> None:
        """Who has died, or says nothing any more."""
        now = time.monotonic()
        for member in list(self.members.values()):
            if member.failed is not None:
                continue
            code = member.child.poll()
            if code is not None and member.channel is None:
                self._crashed(member, _ended(member.child, code))
            elif now - member.heard > self.launch.patience_s and not (member.ready and not self.start_ns):
                member.child.kill()
                self._crashed(member, f"has not answered for {self.launch.patience_s:g} s")

    def _gone(self, member: Member, message: str) -> None:
        """A channel was closed."""
        if member.channel:
            member.channel.close()
        member.channel = None
        if member.report is not None or member.failed is not None or self.stopping:
            return
        if not member.ready:
            # It may have been a former life's. If it was this one's, its process ends and says why.
            return
        member.child.kill()
        self._crashed(member, f"is gone: {message}")

    def _crashed(self, member: Member, how: str) -> None:
        """Starts a member anew, if that is allowed; the others are told at once."""
        number = member.host.number
        self.crashes[number] = self.crashes.get(number, 0) + 1
        if member.host.needed:
            late = time.monotonic() - member.since > self.launch.patience_s
            tried = LIVES_MAX - 1 if not late else 1
            hopeless = not member.ready and member.fruitless >= tried
        else:
            hopeless = not member.ready or self.crashes[number] > OWN_RESTARTS
        if hopeless or sum(self.crashes.values()) > self.launch.restarts:
            if self._is_vital(member):
                raise RunError(f"{member.host.name} {how}")
            return self._give_up(member, how)
        self._bury(member)
        self._lose(member)
        self.members[number] = self._new(member.host, member)
        return None

    def _is_vital(self, member: Member) -> bool:
        """Whether the run fails with it."""
        if self._is_found():
            return False
        return member.host.needed or (member.host.awaited and not self.start_ns)

    def _is_found(self) -> bool:
        """Whether no member is needed any more, because each has left everything."""
        return self.launch.shared and self.start_ns > 0 and self._finished()

    def _lose(self, member: Member) -> None:
        """Those that have begun are told that a member is gone."""
        for other in self.members.values():
            if self.start_ns and other is not member and other.ready:
                self._send(other, {"type": "lost", "host": member.host.number})

    def _give_up(self, member: Member, why: str) -> None:
        """The run goes on without a member."""
        if member.failed is None:
            member.failed = why
            member.child.kill()
            self._lose(member)

    def _send(self, member: Member, frame: Frame) -> None:
        """To a member that may be gone: then its channel's reader says so."""
        if member.channel:
            try:
                member.channel.send(frame)
            except ChannelClosedError:
                return

    def _outcome(self, finished: bool) -> Outcome:
        members = self.members.values()
        return Outcome(
            reports=[member.report for member in members if member.report is not None],
            finished=finished,
            crashes=dict(self.crashes),
            addresses=[member.address for member in members if member.address is not None],
            restarts={n: member.life for n, member in self.members.items() if member.life},
            unreachable=frozenset(n for n, member in self.members.items() if not member.met),
            failures={n: member.failed for n, member in self.members.items() if member.failed is not None},
        )


def _ended(child: Child, code: int) -> str:
    """How a child ended that should not have."""
    said = child.said() if isinstance(child, Says) else ""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return said or f"{how} before it was ready"
