"""The chart library as one script, so that the page needs no network.

vl-convert puts it together from what it carries; that takes seconds, so the result is kept in the
user's cache folder under vl-convert's version.
"""

import os
import tempfile
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from incast.bounded import read_text

_BYTES_MAX = 64_000_000


@cache
def script() -> str:
    """Vega, Vega-Lite and Vega-Embed as JavaScript."""
    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, ValueError):
        return read_text(kept, _BYTES_MAX)
    import vl_convert

    bundle = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    _keep(kept, bundle)
    return bundle


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
