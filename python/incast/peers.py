"""Where another program of ours waits, and the key that it has, as people write them on the command line."""

from __future__ import annotations

from pathlib import Path

from incast.bounded import read_bytes
from incast.errors import Problem, ScenarioError

__all__ = ["KEY_BYTES_MIN", "parse_address", "read_key"]

KEY_BYTES_MIN = 16
_KEY_BYTES_MAX = 1 << 16
_PORT_MAX = 65535


def read_key(path: Path) -> bytes:
    """A key from a file that nobody else can read."""
    try:
        key, mode = read_bytes(path, _KEY_BYTES_MAX).strip(), path.stat().st_mode
    except OSError as error:
        raise ScenarioError(
            [Problem((error.strerror or str(error)).lower(), "--key-file", str(path))]
        ) from None
    if mode & 0o077:
        raise ScenarioError([Problem("others can read it: chmod 600 is needed", "--key-file", str(path))])
    if len(key) < KEY_BYTES_MIN:
        message = f"it has {len(key)} bytes: at least {KEY_BYTES_MIN} are needed (openssl rand -hex 32)"
        raise ScenarioError([Problem(message, "--key-file", str(path))])
    return key


def parse_address(text: str, option: str) -> tuple[str, int]:
    """A host and a port; an IPv6 address stands in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > _PORT_MAX:
        raise ScenarioError([Problem(f"{text} is not HOST:PORT", option)])
    bracketed = host.startswith("[") and host.endswith("]")
    if ":" in host and not bracketed:
        raise ScenarioError([Problem(f"{text}: an IPv6 address stands in brackets, [{host}]:{port}", option)])
    return host[1:-1] if bracketed else host, int(port)
