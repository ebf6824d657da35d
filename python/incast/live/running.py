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
"""Crashes of a host that is not needed after which it is restarted."""
LIVES_MAX = 5
"""Lives in a row of a host that is needed: when it was ready in none of them, it is given up. So is one that
has died twice and needed longer than the patience of the run for it."""
RETURN_S, RETURN_MOST_S = 0.5, 8.0
"""One that may return has so long to do so before it is started again; this doubles, up to so long."""
SHORT_S = 5.0
"""A life that ended sooner than this brought nothing."""
STILL_S = 3.0
"""Two looks at the members that are further apart than this say that the launcher itself stood still."""
GOODBYE_S = 5.0
"""What a host that is not needed has to report at the end is waited for no longer."""
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
    begun: bool = False
    """It was told to begin, in this life."""
    wait_s: float = RETURN_S
    again: float = 0.0
    """When it is started again, if it is not back by then."""
    why: str = ""
    """How its connection was lost."""
    pending: bool = False
    """It was started again, and has not come in yet."""
    idle: int = 0
    """Lives before this one, one after the other, that were short."""
    born: float = 0.0
    """When the present one came in."""


class Running:
    """A run under way. One thread a member reads its channel; all else happens in the caller's thread."""

    def __init__(
        self,
        launch: Launch,
        watch: Watch | None = None,
        stop: threading.Event | None = None,
        tick: Tick | None = None,
    ) -> None:
        self.launch = launch
        self.watch = watch
        self.stop = stop or threading.Event()
        self.tick = tick
        self.told: list[Frame] = []
        self.key = launch.key
        self.door = Door(launch.ip, self.key)
        self.hellos: queue.Queue[tuple[Channel, Frame]] = queue.Queue()
        self.events: queue.Queue[tuple[int, Channel, Frame]] = queue.Queue()
        self.looked = time.monotonic()
        self.members: dict[int, Member] = {}
        self.crashes: dict[int, int] = {}
        self.start_ns = 0
        self.enough_since: float | None = None
        self.stopping = False

    def run(self) -> Outcome:
        """Runs from the first process to the last report.

        Ctrl-C stops the members in good order, and their reports are kept.
        Raises `RunError` with the host's name when one doesn't answer, fails, or crashes once too often; a
        `FailedRunError` when they had begun, or when none of those that need not come in did.
        """
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
            said = "\n".join(f"{member.host.name}: {member.failed}" for member in others)
            raise FailedRunError(said, self._outcome(True))
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
        member.begun = True
        for told in self.told:
            self._send(member, {"type": "tell", "told": told})
        member.heard = time.monotonic() + HEAD_START_S

    def _tell(self, told: Frame) -> None:
        """To all members, and later to those that are restarted."""
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
        """A member that has finished may still have died with what it had found."""
        if self._is_found():
            return
        for member in self.members.values():
            # One that may return can be away at the end: what it did, it had said before.
            said = member.host.returns and member.finished
            if member.report is None and member.failed is None and not said:
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
        patience = self.launch.patience_s if member.host.needed else min(self.launch.patience_s, GOODBYE_S)
        if time.monotonic() - member.heard > patience:
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
            threading.Thread(target=self._meet, args=(self.door.arrived.get(),), daemon=True).start()
        while not self.hellos.empty():
            self._welcome(*self.hellos.get())
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
            case "report" if self.stopping or (member.host.returns and member.finished):
                member.report = frame["report"]
            case "report" if member.host.returns:
                member.why = "was ended from outside"
            case "report":
                self._crashed(member, "was ended from outside")
            case "error" if self._is_vital(member):
                raise RunError(f"{member.host.name}: {frame['message']}")
            case "error":
                self._give_up(member, frame["message"])
            case "gone":
                self._gone(member, frame["message"])

    def _meet(self, channel: Channel) -> None:
        """A process has connected: the first frame says which member it is."""
        try:
            self.hellos.put((channel, channel.receive(self.launch.patience_s)))
        except (ChannelClosedError, TimeoutError):
            channel.close()

    def _welcome(self, channel: Channel, hello: Frame) -> None:
        """A member is there, for the first time or again."""
        member = self.members.get(hello.get("host", -1))
        if hello["type"] != "hello" or member is None:
            return channel.close()
        if "life" in hello:
            return self._take_back(member, channel, hello["life"])
        if member.failed is not None:
            return channel.close()
        if member.host.returns and member.met:
            if member.channel:
                return channel.close()
            self._begin_life(member)
            if member.failed is not None:
                return channel.close()
        elif member.ready:
            return channel.close()
        if member.channel:
            # A life before this one died when it had just connected: its channel was taken for this one's.
            member.channel.close()
        self._connect(member, channel)
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

    def _connect(self, member: Member, channel: Channel) -> None:
        """From now on a member speaks on this connection."""
        member.channel, member.met = channel, True
        member.heard, member.wait_s, member.why = time.monotonic(), RETURN_S, ""
        threading.Thread(target=self._read, args=(member.host.number, channel), daemon=True).start()

    def _take_back(self, member: Member, channel: Channel, life: int) -> None:
        """A member that was cut off is back, unless another life has begun in its place."""
        if not member.host.returns or member.failed is not None or life != member.life or not member.begun:
            with contextlib.suppress(ChannelClosedError):
                channel.send({"type": "stop"})
            return channel.close()
        if member.channel:
            # This end has not noticed yet that the other one is gone.
            member.channel.shut()
        if member.pending:
            member.child.kill()
            member.pending = False
        self._connect(member, channel)
        addresses = [each.address for each in self.members.values() if each.address is not None]
        return self._send(member, {"type": "back", "addresses": addresses})

    def _read(self, number: int, channel: Channel) -> None:
        try:
            while True:
                self.events.put((number, channel, channel.receive()))
        except (ChannelClosedError, TypeError) as error:
            self.events.put((number, channel, {"type": "gone", "message": str(error)}))

    def _ready(self, member: Member, address: dict[str, Any]) -> None:
        member.address, member.ready = address, True
        if self.start_ns:
            # They are told first: a member at an address that they don't know is a stranger.
            for other in self.members.values():
                if other is not member and other.ready:
                    self._send(other, {"type": "moved", "address": address})
            self._begin(member)

    def _look(self) -> None:
        """Members that have died, or say nothing any more."""
        now = time.monotonic()
        still, self.looked = now - self.looked, now
        for member in list(self.members.values()):
            if still > STILL_S:
                member.heard += still
            if member.failed is not None:
                continue
            if member.host.returns and member.met:
                self._look_after(member, now)
                continue
            code = member.child.poll()
            if code is not None and member.channel is None:
                self._crashed(member, _ended(member.child, code))
            elif now - member.heard > self.launch.patience_s and not (member.ready and not self.start_ns):
                member.child.kill()
                self._crashed(member, f"has not answered for {self.launch.patience_s:g} s")

    def _look_after(self, member: Member, now: float) -> None:
        """One that may return: it is cut off, stands still, or has died; only time tells."""
        waits = member.ready and not self.start_ns
        if member.finished and member.channel is None:
            return None
        if now - member.heard > self.launch.patience_s and not waits:
            silent = f"has not answered for {self.launch.patience_s:g} s"
            return self._give_up(member, f"{member.why}, and {silent}" if member.why else silent)
        if member.channel is None and now >= member.again and member.child.poll() is not None:
            member.child = self.launch.start(member.host.number, self.door.address, self.key)
            member.pending = True
            member.wait_s = min(2 * member.wait_s, RETURN_MOST_S)
            member.again = now + member.wait_s
        return None

    def _begin_life(self, member: Member) -> None:
        """One that may return was started again: a few times over, unless it lives for a while."""
        now = time.monotonic()
        member.idle = member.idle + 1 if now - member.born < SHORT_S + member.wait_s else 1
        member.born = now
        if member.idle > OWN_RESTARTS:
            return self._give_up(member, member.why)
        member.life += 1
        member.ready = member.begun = member.pending = False
        return None

    def _gone(self, member: Member, message: str) -> None:
        """A channel was closed."""
        if member.channel:
            member.channel.close()
        member.channel = None
        if member.report is not None or member.failed is not None or self.stopping:
            return None
        if member.host.returns:
            member.why = member.why or f"is gone: {message}"
            member.again = time.monotonic() + member.wait_s
            return None
        if not member.ready:
            # It may have been a former life's. If it was this one's, its process ends and says why.
            return None
        member.child.kill()
        return self._crashed(member, f"is gone: {message}")

    def _crashed(self, member: Member, how: str) -> None:
        """Starts a member again, if that is allowed; the others are told at once."""
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
