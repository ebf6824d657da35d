"""A hook of MkDocs: links from the manual to the rest of the repository lead to its public copy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Replaces links that leave docs/; MkDocs checks the others."""

    def public(found: re.Match[str]) -> str:
        target = (DOCS / page.file.src_uri).parent.joinpath(found[1]).resolve()
        if target.is_relative_to(DOCS):
            return found[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"]({config.repo_url}/{kind}/main/{target.relative_to(ROOT)}{found[2] or ''})"

    return _LINK.sub(public, markdown)
