"""A console on which names can't act: see `incast.cli.plain`."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from incast.cli.plain import plain


class SafeConsole(Console):
    """A console that shows text and markup, and acts on nothing else in them."""

    def render_str(self, text: str, **more: Any) -> Text:
        """Text as rich renders it, without what a terminal would act on."""
        return super().render_str(plain(text), **more)
