"""Prints what pip installs for an extra, incast itself aside: it can be fetched while incast is built.

Usage: libraries.py EXTRA
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_OWN = re.compile(r"incast\[(.+)\]")


def libraries(extras: Mapping[str, Sequence[str]], name: str) -> list[str]:
    """Those of an extra, and of the extras that it names."""
    found: list[str] = []
    for each in extras[name]:
        own = _OWN.fullmatch(each)
        found += [one for more in own[1].split(",") for one in libraries(extras, more)] if own else [each]
    return found


def main() -> None:
    """Prints them, a line each."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    needed = project["dependencies"] + libraries(project["optional-dependencies"], sys.argv[1])
    print("\n".join(sorted(set(needed))))


if __name__ == "__main__":
    main()
