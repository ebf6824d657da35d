"""The form of comments and documents: widths, and words that make a sentence hard to read."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WIDTH = 110
"""As rustfmt.toml and ruff have it for code; neither looks at comments or Markdown."""
COMMENT = re.compile(r"\s*//[/!]?\s?(?P<text>.*)")
NO_SUBJECT = re.compile(r"(?:^|[.:;] )(?:Who|Whoever|Whom)\b(?!.*\?)")
"""A sentence whose subject is missing: `Who waits is told` for `A thread that waits is told`."""


def files(*patterns: str) -> list[Path]:
    """The repository's files of these kinds; in a source distribution, all that are there."""
    told = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = [ROOT / name for name in told.stdout.splitlines()]
    return found or [file for pattern in patterns for file in ROOT.rglob(pattern)]


def prose(file: Path) -> Iterator[tuple[int, str, str]]:
    """Lines with prose: number, the whole line, the text in it. Of Python all lines."""
    fenced = False
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if file.suffix == ".py":
            yield number, line, line.lstrip('"# ')
            continue
        match = COMMENT.fullmatch(line) if file.suffix == ".rs" else None
        if file.suffix == ".rs" and not match:
            continue
        text = match["text"] if match else line
        fenced ^= text.lstrip().startswith("```")
        if not fenced and not text.startswith("|"):
            yield number, line, text


@pytest.mark.parametrize("kind", ["*.rs", "*.md"])
def test_lines_are_as_wide_as_code(kind: str) -> None:
    wide = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in files(kind)
        for number, line, text in prose(file)
        # A word that is longer than a line, like an address, can't be divided.
        if len(line) > WIDTH and " " in text.strip()[:WIDTH] and not text.startswith("![")
    ]
    assert wide == []


@pytest.mark.parametrize("kind", ["*.rs", "*.py", "*.md"])
def test_sentences_have_a_subject(kind: str) -> None:
    bare = [
        f"{file.relative_to(ROOT)}:{number}: {text}"
        for file in files(kind)
        for number, _, text in prose(file)
        if NO_SUBJECT.search(text)
    ]
    assert bare == []
