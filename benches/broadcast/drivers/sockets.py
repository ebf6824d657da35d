"""Plain TCP: `sockets.py flat|turns|source|sink|relay|hole …`, as in a tutorial.

    flat FILE ADDRESS…    the source sends to all at once, a thread each (sendfile)
    turns FILE ADDRESS…   the source sends to one after the other
    sink FILE             receives and writes the file
    hole                  receives and throws away
    relay FILE ADDRESS    receives, writes, and passes each 64 kB on to the next host

The size comes first, in eight bytes. When the receiver has the file it answers with one byte, which a relay
passes back at once for itself.
"""

import contextlib
import os
import socket
import sys
import threading
import time
from pathlib import Path

PORT = 7700
CHUNK = 64 * 1024
LARGE = 1024 * 1024
PATIENCE_S = 20


def connect(address: str) -> socket.socket:
    """The other side may not yet listen."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return socket.create_connection((address, PORT))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def send(file: Path, stream: socket.socket) -> None:
    """Until the receiver says that it has all."""
    with file.open("rb") as content, stream:
        size = os.fstat(content.fileno()).st_size
        stream.sendall(size.to_bytes(8, "big"))
        begin = 0
        while begin < size:
            begin += os.sendfile(stream.fileno(), content.fileno(), begin, size - begin)
        stream.recv(1)


def flat(file: Path, addresses: list[str]) -> None:
    """All connections are open before the first byte; prints the seconds that all took."""
    threads = [threading.Thread(target=send, args=(file, connect(each))) for each in addresses]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(time.monotonic() - begin)


def turns(file: Path, addresses: list[str]) -> None:
    """All connections are open before the first byte; lost receivers are left out."""
    for stream in [connect(each) for each in addresses]:
        with contextlib.suppress(OSError):
            send(file, stream)


def receive(file: Path | None, next_host: str | None, chunk: int) -> None:
    """To a file, or nowhere; to the next host, or nowhere."""
    with socket.create_server(("", PORT)) as server:
        stream = server.accept()[0]
    child = connect(next_host) if next_host else None
    part = Path("/dev/null") if file is None else file.with_suffix(".part")
    buffer = memoryview(bytearray(chunk))
    with part.open("wb", buffering=0) as out:
        header = stream.recv(8, socket.MSG_WAITALL)
        if len(header) < 8:
            raise ConnectionError("the source has gone")
        if child:
            child.sendall(header)
        missing = int.from_bytes(header, "big")
        while missing:
            got = stream.recv_into(buffer)
            if got == 0:
                raise ConnectionError("the source has gone")
            if file:
                out.write(buffer[:got])
            if child:
                child.sendall(buffer[:got])
            missing -= got
    if file:
        part.rename(file)
    stream.send(b"!")
    if child:
        child.recv(1)


def main() -> None:
    """By the role."""
    role, *rest = sys.argv[1:]
    if role in ("flat", "turns"):
        {"flat": flat, "turns": turns}[role](Path(rest[0]), rest[1:])
    elif role == "relay":
        receive(Path(rest[0]), rest[1] if rest[1:] else None, CHUNK)
    else:
        receive(Path(rest[0]) if role == "sink" else None, None, LARGE)


if __name__ == "__main__":
    main()
