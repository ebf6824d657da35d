"""The control channel between a launcher and its members: frames of JSON, bounded in length, over TCP.

A process that connects proves first that it knows the job's key, and gets the same proof: the challenge of
`multiprocessing.connection`, an HMAC of random bytes. From then on frames are sealed
(`crates/live/src/seal.rs`: Noise, with keys of the connection's own). So what a stranger sends or changes is
never interpreted, and a listener on the network reads lengths and times only.
"""

from __future__ import annotations

import contextlib
import errno
import hmac
import json
import os
import queue
import socket
import struct
import threading
from collections import Counter
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

from incast import _core
from incast.errors import RunError

Frame = dict[str, Any]

FRAME_MAX_BYTES = 256 << 20
"""A longer frame ends the connection."""
SEALED_MAX_BYTES = FRAME_MAX_BYTES + FRAME_MAX_BYTES // 512
"""It is sealed in parts."""
HANDSHAKE_S = 5.0
"""A stranger who has not proved anything by then is dropped, however much it says."""
CONNECT_S = 10.0
"""A process that does not answer within it is not there."""
SILENCE_S = 20.0
"""What was sent and is not acknowledged for so long has not arrived."""
STRANGERS_MAX = 64
"""Connections that have not proved anything, at most."""


HANDSHAKE_BYTES = 48


class ChannelClosedError(Exception):
    """The other end is gone, or has sent what isn't a frame."""


def stream_key(key: bytes) -> bytes:
    """What members show each other, from what the launcher has told them."""
    return hmac.digest(key, b"incast streams", "sha256")[:16]


def stream_secret(key: bytes) -> bytes:
    """Under which members seal what they say to each other, where they do."""
    return hmac.digest(key, b"incast sealed streams", "sha256")


class Channel:
    """One end of a connection that has proved itself. Any thread may send, one receives."""

    def __init__(self, connection: Connection, key: bytes, opener: bool) -> None:
        """Agrees on the connection's keys: both sides have to do so. `ValueError` when they can't."""
        self.connection = connection
        _mind(connection)
        self._sending = threading.Lock()
        self._seal = _core.LiveSeal(hmac.digest(key, b"incast control", "sha256"), b"", opener)
        if opener:
            connection.send_bytes(self._seal.say())
        self._seal.hear(connection.recv_bytes(HANDSHAKE_BYTES))
        if not opener:
            connection.send_bytes(self._seal.say())

    def send(self, frame: Frame) -> None:
        """Sends a frame; waits while the other end doesn't read."""
        try:
            content = json.dumps(frame, separators=(",", ":")).encode()
            with self._sending:
                self.connection.send_bytes(self._seal.seal_text(content))
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> Frame:
        """The next frame. `TimeoutError` when none begins within `timeout_s`."""
        try:
            there = self.connection.poll(timeout_s)
            frame = json.loads(self._open(self.connection.recv_bytes(SEALED_MAX_BYTES))) if there else None
        except (EOFError, OSError, ValueError) as error:
            raise ChannelClosedError(str(error) or "the connection was closed") from error
        if not there:
            raise TimeoutError
        if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
            raise ChannelClosedError("what came is not a frame")
        return frame

    def _open(self, sealed: bytes) -> bytes:
        """The content of what came, if it is what the other end sent next."""
        try:
            return self._seal.open_text(sealed)
        except ValueError:
            raise ChannelClosedError("what came was changed on the way") from None

    def local_ip(self) -> str:
        """The address of this machine on the way to the other end."""
        with _socket(self.connection) as same:
            return str(same.getsockname()[0])

    def shut(self) -> None:
        """Ends the connection; the thread that receives from it is told, and closes it."""
        _shut(self.connection)

    def close(self) -> None:
        """Closes this end."""
        self.connection.close()


def connect(address: tuple[str, int], key: bytes) -> Channel:
    """A member's way to its launcher.

    Raises `AuthenticationError` when it has another key, and `OSError` when it does not answer or is none.
    """
    with socket.create_connection(address, CONNECT_S) as there:
        there.setblocking(True)
        connection = Connection(there.detach())
    try:
        _limit(connection, CONNECT_S)
        answer_challenge(connection, key)
        deliver_challenge(connection, key)
        channel = Channel(connection, key, opener=True)
        _limit(connection, 0)
    except BaseException as error:
        connection.close()
        match error:
            case BlockingIOError():
                raise TimeoutError("what is there says nothing") from None
            case EOFError():
                raise ConnectionAbortedError("the connection was closed") from None
            case ConnectionError() | AuthenticationError() | KeyboardInterrupt():
                raise
        # Bytes that are no challenge, or too many of them.
        raise ConnectionAbortedError("what is there is not incast") from error
    return channel


def family_of(host: str, port: int) -> socket.AddressFamily:
    """IPv4 where the host has an address of it, else IPv6. `OSError` when it has none."""
    found = [each[0] for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    return socket.AF_INET if socket.AF_INET in found else found[0]


def place(address: tuple[str, int]) -> str:
    """An address as people write it: IPv6 in brackets (RFC 3986, 3.2.2)."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _no_door(error: OSError) -> str:
    """Why nobody can come in there."""
    if error.errno in {errno.EADDRNOTAVAIL, socket.EAI_NONAME}:
        return "it is no address of this machine"
    if error.errno == errno.EADDRINUSE:
        return "the port is taken by another program"
    return (error.strerror or str(error)).lower()


class Door:
    """Where members come in: each proves itself in a thread of its own, so a silent one holds up nobody."""

    def __init__(self, ip: str, key: bytes, port: int = 0) -> None:
        self._key = key
        try:
            self._listener = Listener((ip, port), family_of(ip, port).name, backlog=128)
        except OSError as error:
            at = place((ip, port)) if port else ip
            raise RunError(f"{at}: {_no_door(error)}") from None
        # No SimpleQueue: in Python 3.11 a signal can make a wait of that one endless.
        self.arrived: queue.Queue[Channel] = queue.Queue()
        self.refused = 0
        self._guard = threading.Lock()
        self._strangers: dict[Connection, str] = {}
        """Where each comes from, the oldest first."""
        threading.Thread(target=self._accept, daemon=True, name="incast-door").start()

    @property
    def address(self) -> tuple[str, int]:
        """Where to connect to."""
        host, port = self._listener.address[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Lets nobody in any more."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                return
            self._make_room()
            with self._guard:
                self._strangers[connection] = _origin(connection)
            threading.Thread(target=self._prove, args=(connection,), daemon=True).start()

    def _make_room(self) -> None:
        """Drops the stranger that has waited longest, of the network that most come from.

        A process that knows the key proves it within a few round trips; many that don't can't keep it out.
        """
        with self._guard:
            if len(self._strangers) < STRANGERS_MAX:
                return
            most, _ = Counter(self._strangers.values()).most_common(1)[0]
            first = next(each for each, origin in self._strangers.items() if origin == most)
            del self._strangers[first]
            _shut(first)

    def _prove(self, connection: Connection) -> None:
        # A read that brings a byte now and then never times out: the whole has to come in time.
        late = threading.Timer(HANDSHAKE_S, _shut, (connection,))
        late.daemon = True
        late.start()
        try:
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
            channel = Channel(connection, self._key, opener=False)
            late.cancel()
            self.arrived.put(channel)
        except (AuthenticationError, EOFError, OSError, ValueError, TypeError, AssertionError):
            self.refused += 1
            with self._guard:
                self._strangers.pop(connection, None)
                connection.close()
        finally:
            late.cancel()
            with self._guard:
                self._strangers.pop(connection, None)


def _origin(connection: Connection) -> str:
    """The network that somebody comes from: of IPv6 addresses one host has many (RFC 4291, 64 bits).

    Nothing where they have gone already. The listener would know too, but may be closed meanwhile.
    """
    try:
        with _socket(connection) as same:
            host = str(same.getpeername()[0])
    except OSError:
        return ""
    return ":".join(host.split(":")[:4]) if ":" in host and "." not in host else host


def _shut(connection: Connection) -> None:
    """Ends a connection: a thread that reads from it is told."""
    with contextlib.suppress(OSError), _socket(connection) as same:
        same.shutdown(socket.SHUT_RDWR)


def _socket(connection: Connection) -> socket.socket:
    """A second socket on the same connection, of whatever family."""
    return socket.socket(fileno=os.dup(connection.fileno()))


def _mind(connection: Connection) -> None:
    """The connection ends when the other end acknowledges nothing for some time (tcp(7), RFC 5482)."""
    with _socket(connection) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(SILENCE_S * 1000))
        # Asked for a sign of life when there is nothing to send: a host that was off would not be missed.
        same.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, int(SILENCE_S / 2))
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, int(SILENCE_S / 8))


def _limit(connection: Connection, seconds: float) -> None:
    """A read that brings nothing for so long fails (socket(7), SO_RCVTIMEO); 0 means no limit."""
    with _socket(connection) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(seconds), 0))
        # The duplicate shares the mode of the original, which blocks.
        same.setblocking(True)
