"""The control channel between a launcher and its members: frames of JSON, bounded in length, over TCP.

Whoever connects proves first that it knows the job's key, and is shown the same: the challenge of
`multiprocessing.connection`, an HMAC of random bytes. What a stranger sends is never interpreted.
"""

from __future__ import annotations

import json
import queue
import socket
import struct
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

Frame = dict[str, Any]

FRAME_MAX_BYTES = 256 << 20
"""A longer frame ends the connection."""
HANDSHAKE_S = 5.0
"""A stranger who says nothing is dropped after it."""
STRANGERS_MAX = 64
"""Connections that have not proved anything, at most."""


class ChannelClosedError(Exception):
    """The other end is gone, or has sent what isn't a frame."""


class Channel:
    """One end of a connection. Any thread may send, one receives."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._sending = threading.Lock()

    def send(self, frame: Frame) -> None:
        """Sends a frame; waits while the other end doesn't read."""
        try:
            with self._sending:
                self.connection.send_bytes(json.dumps(frame, separators=(",", ":")).encode())
        except OSError as error:
            raise ChannelClosedError(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> Frame:
        """The next frame. `TimeoutError` when none begins within `timeout_s`."""
        try:
            there = self.connection.poll(timeout_s)
            frame = json.loads(self.connection.recv_bytes(FRAME_MAX_BYTES)) if there else None
        except (EOFError, OSError, ValueError) as error:
            raise ChannelClosedError(str(error) or "the connection was closed") from error
        if not there:
            raise TimeoutError
        if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
            raise ChannelClosedError("what came is not a frame")
        return frame

    def close(self) -> None:
        """Closes this end."""
        self.connection.close()


def connect(address: tuple[str, int], key: bytes) -> Channel:
    """A member's way to its launcher."""
    return Channel(Client(address, "AF_INET", authkey=key))


class Door:
    """Where members come in: each proves itself in a thread of its own, so a silent one holds up nobody."""

    def __init__(self, ip: str, key: bytes) -> None:
        self._key = key
        self._listener = Listener((ip, 0), "AF_INET", backlog=128)
        self.arrived: queue.SimpleQueue[Channel] = queue.SimpleQueue()
        self.refused = 0
        self._strangers = threading.Semaphore(STRANGERS_MAX)
        threading.Thread(target=self._accept, daemon=True, name="incast-door").start()

    @property
    def address(self) -> tuple[str, int]:
        """Where to connect to."""
        host, port = self._listener.address
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
            if self._strangers.acquire(blocking=False):
                threading.Thread(target=self._prove, args=(connection,), daemon=True).start()
            else:
                self.refused += 1
                connection.close()

    def _prove(self, connection: Connection) -> None:
        try:
            _limit(connection, HANDSHAKE_S)
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
            _limit(connection, 0)
            self.arrived.put(Channel(connection))
        except (AuthenticationError, EOFError, OSError, ValueError, TypeError, AssertionError):
            self.refused += 1
            connection.close()
        finally:
            self._strangers.release()


def _limit(connection: Connection, seconds: float) -> None:
    """A read that brings nothing for so long fails (socket(7), SO_RCVTIMEO); 0 means no limit."""
    with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", int(seconds), 0))
        # The duplicate shares the mode of the original, which blocks.
        same.setblocking(True)
