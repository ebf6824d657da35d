"""The page of `incast view` for tests: opened, read, and its answers without a browser."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from incast.view.answers import Answers

SHOWN_MS = 30_000


def opened(browser: Any, address: str, width: int, scheme: str) -> tuple[Any, list[str]]:
    """The page with a run on it, and what it logged. At its beginning a run may have nothing to list."""
    page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    logged: list[str] = []
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.goto(address)
    deadline = time.monotonic() + SHOWN_MS / 1000
    while not page.evaluate("performance.getEntriesByName('incast-samples').length"):
        assert time.monotonic() < deadline, page.locator("body").inner_text()
        page.wait_for_timeout(50)
    return page, logged


def table(page: Any) -> list[list[str]]:
    """The cells of what stands out at the time shown."""
    rows = page.locator(".pane table tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def shows(page: Any, cells: Callable[[list[list[str]]], Any], wanted: Any) -> None:
    """Waits until the table is as wanted: a moment that was chosen is drawn a little later."""
    deadline = time.monotonic() + SHOWN_MS / 1000
    while (found := cells(table(page))) != wanted and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    assert found == wanted


def ask(folder: Path, what: str, **said: Any) -> Any:
    """An answer about the run in a folder."""
    words = {name: str(value) for name, value in said.items()}
    return json.loads(Answers([folder]).ask(what, {"run": folder.name, **words}).body)
