"""The chart library as one script, so that the page needs no network.

vl-convert puts it together from what it carries; that takes seconds, so the result is kept in the
user's cache folder under vl-convert's version.
"""

import base64
import gzip
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from incast.bounded import read_text

_BYTES_MAX = 64_000_000


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed as JavaScript."""
    return _kept("js", _put_together)


@cache
def packed() -> str:
    """The same, packed."""
    return _kept("packed", lambda: pack(script()))


def pack(content: str) -> str:
    """Text as `page.js` unpacks it: a quarter of its size, and no markup whatever names it holds."""
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()


def _put_together() -> str:
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def _kept(ending: str, make: Callable[[], str]) -> str:
    file = cache_folder() / f"vega-{version('vl-convert-python')}.{ending}"
    with suppress(OSError, ValueError):
        return read_text(file, _BYTES_MAX)
    content = make()
    _keep(file, content)
    return content


def cache_folder() -> Path:
    """Where what all pages need is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "incast"


def _keep(file: Path, content: str) -> None:
    """Writes whole or not at all; without a writable cache each process makes its own."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=file.parent, delete=False) as part:
            part.write(content)
        Path(part.name).replace(file)
    except OSError:
        return
