"""Rewrites the generated parts of the manual, or lists those that are out of date.

    python docs/generate            writes
    python docs/generate --check    writes nothing; exit code 1 when a page is out of date

A page is written by hand, except for the text between `<!-- generated: WHAT ARGUMENT -->` and
`<!-- end -->`: that comes from the code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import command
import metrics
import scenario
import settings
import study
import tables

REFERENCE = Path(__file__).resolve().parent.parent / "reference"
_PART = re.compile(r"(<!-- generated: (\S+) ?(\S*) -->\n).*?(<!-- end -->)", re.DOTALL)
_MAKERS: dict[str, Callable[[str], str]] = {
    "model": scenario.model,
    "variants": scenario.variants,
    "study": study.study,
    "claims": study.claims,
    "table": tables.table,
    "figures": tables.figures,
    "command": command.command,
    "settings": lambda _: settings.settings(),
    "metrics": lambda _: metrics.metrics(),
    "exit-codes": lambda _: command.exit_codes(),
}


def fill(text: str) -> str:
    """The page with its generated parts as the code has them now."""
    return _PART.sub(lambda found: f"{found[1]}{_MAKERS[found[2]](found[3])}{found[4]}", text)


def stale() -> list[Path]:
    """Pages whose generated parts are out of date."""
    texts = {page: page.read_text("utf-8") for page in sorted(REFERENCE.glob("*.md"))}
    return [page for page, text in texts.items() if fill(text) != text]


def main() -> int:
    """The command."""
    pages = stale()
    for page in pages:
        if "--check" in sys.argv[1:]:
            print(f"{page} is out of date: run python docs/generate", file=sys.stderr)
        else:
            page.write_text(fill(page.read_text("utf-8")), "utf-8")
            print(f"wrote {page}")
    return 1 if pages and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
