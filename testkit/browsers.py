"""A real browser for pages, and what it finds wrong for those who can't see them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SYSTEM = next(filter(None, map(shutil.which, NAMES)), None)
"""The one without windows needs a third less processor time for the same pages."""


@contextmanager
def launched() -> Iterator[Any]:
    """The system's Chromium, or the one that playwright has downloaded, without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        try:
            running = playwright.chromium.launch(executable_path=SYSTEM, args=["--no-sandbox"])
        except sync_api.Error as error:
            if SYSTEM:
                raise
            why = str(error).splitlines()[0]
            pytest.skip(f"no Chromium: install it, or run `playwright install chromium` ({why})")
        yield running
        running.close()


def violations(page: Any) -> str:
    """What axe-core finds that breaks rules of accessibility; empty where there is nothing."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    found = axe.Axe().run(page)
    return str(found.generate_report()) if found.violations_count else ""
