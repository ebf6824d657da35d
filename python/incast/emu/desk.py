"""Orders for emulated hosts from other processes of this user, over a socket in the result folder.

An order is a line of JSON, {"host": …, "command": …}. What comes back is a line too, {"code": …} or
{"error": …}, and then what the command has printed. A client that leaves interrupts its order.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from incast.emu.operator import OUTPUT_MAX, Order
from incast.errors import RunError, why
from incast.stop import Stop

SOCKET = "operator.sock"
_LINE_MAX = 1 << 20
_CLIENT_S = 5.0
"""A client that takes longer to say something is none."""
_LOOK_S = 0.1
_CREDENTIALS = struct.Struct("3i")
"""`struct ucred`: process, user, group (unix(7))."""


class SocketDesk:
    """A desk for other processes; the socket is there once orders can be taken."""

    def __init__(self, folder: Path, hosts: Sequence[str]) -> None:
        self.folder = folder
        self.hosts = hosts
        self._stop = Stop()
        self._listener: socket.socket | None = None
        self._client: socket.socket | None = None

    def __enter__(self) -> Self:
        self._stop.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.__exit__(kind, error, trace)
        for each in (self._client, self._listener):
            if each:
                each.close()
        if self._listener:
            (self.folder / SOCKET).unlink(missing_ok=True)

    @staticmethod
    def is_there(folder: Path) -> bool:
        """Whether somebody takes orders there."""
        try:
            with _connected(folder):
                return True
        except OSError:
            return False

    def over(self) -> bool:
        """Whether somebody wants it to end."""
        return self._stop.asked

    def next(self, _now_ps: int) -> Order | None:
        """The next order of a client."""
        try:
            self._listener = self._listener or _listening(self.folder)
        except OSError as error:
            raise RunError(f"{self.folder / SOCKET}: {why(error)}") from None
        while not self._stop.asked:
            if not select.select([self._listener], [], [], _LOOK_S)[0]:
                continue
            client, _ = self._listener.accept()
            client.settimeout(_CLIENT_S)
            try:
                asked = json.loads(_line(client))
                host, command = str(asked["host"]), str(asked["command"])
            except (OSError, ValueError, KeyError, TypeError):
                client.close()  # It was no order.
                continue
            if host not in self.hosts:
                _reply(client, {"error": f"{host} takes no commands: {', '.join(self.hosts)} do"})
                continue
            self._client = client
            return Order(host, command)
        return None

    def answer(self, _order: Order, code: int, output: bytes) -> None:
        """Sends the client what has come of it."""
        if self._client:
            _reply(self._client, {"code": code}, output)
            self._client = None

    def interrupted(self) -> bool:
        """Whether the client has left."""
        if self._client is None or not select.select([self._client], [], [], 0)[0]:
            return False
        self._client.close()
        self._client = None
        return True


def order(folder: Path, host: str, command: str) -> tuple[int, bytes]:
    """Has a command run by a desk; its exit code, and what it has printed."""
    answer, output = _ask(folder, {"host": host, "command": command})
    if "error" in answer:
        raise RunError(answer["error"])
    if "code" not in answer:
        raise RunError(f"the run in {folder} has ended: incast report {folder} shows what it has found")
    return answer["code"], output


def end(folder: Path) -> None:
    """Ends a desk's run, whatever runs there, and waits until its result is written."""
    try:
        with _connected(folder) as desk:
            credentials = desk.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        process = os.pidfd_open(_CREDENTIALS.unpack(credentials)[0])
    except OSError as error:
        raise _nobody(folder, error) from None
    try:
        signal.pidfd_send_signal(process, signal.SIGTERM)
        select.select([process], [], [])
    finally:
        os.close(process)


def _ask(folder: Path, asked: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    try:
        with _connected(folder) as desk:
            desk.sendall(json.dumps(asked).encode() + b"\n")
            desk.settimeout(None)
            line = _line(desk)
            answer = json.loads(line) if line else {}
            output = b"".join(_pieces(desk)) if "code" in answer else b""
    except (OSError, ValueError) as error:
        raise _nobody(folder, error) from None
    return answer, output


def _nobody(folder: Path, error: Exception) -> RunError:
    return RunError(f"nobody takes commands in {folder}: {why(error)}. incast emu up starts hosts")


def _pieces(desk: socket.socket) -> Iterator[bytes]:
    left = 2 * OUTPUT_MAX
    while left > 0 and (piece := desk.recv(min(left, 1 << 16))):
        left -= len(piece)
        yield piece


def _line(peer: socket.socket) -> bytes:
    """Up to the end of the line, byte by byte: what is behind it is not for us."""
    line = bytearray()
    while len(line) < _LINE_MAX and (byte := peer.recv(1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


def _reply(client: socket.socket, answer: dict[str, Any], output: bytes = b"") -> None:
    with contextlib.suppress(OSError), client:
        client.settimeout(_CLIENT_S)
        client.sendall(json.dumps(answer).encode() + b"\n" + output)


@contextlib.contextmanager
def _address(folder: Path) -> Iterator[str]:
    """The socket's, however long the folder's path is: an address may have 107 bytes."""
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{place}/{SOCKET}"
    finally:
        os.close(place)


@contextlib.contextmanager
def _connected(folder: Path) -> Iterator[socket.socket]:
    with _address(folder) as address, socket.socket(socket.AF_UNIX) as desk:
        desk.settimeout(_CLIENT_S)
        desk.connect(address)
        yield desk


def _listening(folder: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        with _address(folder) as address:
            # One of a run that was killed.
            Path(address).unlink(missing_ok=True)
            listener.bind(address)
        listener.listen(8)
    finally:
        os.umask(before)
    return listener
