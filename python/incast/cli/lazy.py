"""Commands whose modules are loaded when they are called, so that `incast --help` waits for none of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from incast.cli import exits
from incast.cli.values import take_plain

__all__ = ["Lazy", "lazy"]


class Lazy(TyperCommand):
    """A command as lists and completion show it; called, it gives way to the real one."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """The context of the real command."""
        assert self.callback
        return get_command(self.callback()).make_context(*arguments, **more)


class _Real(TyperCommand):
    """The command itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes plain values as fast as it can."""
        take_plain(self, ctx)
        return super().parse_args(ctx, args)


def lazy(group: typer.Typer, name: str, place: str, summary: str, **settings: Any) -> None:
    """Adds the function at `place` (`module:function`, below `incast.cli`) as a command.

    `summary` is the first line of its docstring, `settings` are those of `typer.Typer.command`.
    """

    def load() -> typer.Typer:
        module, _, function = place.partition(":")
        alone = typer.Typer(add_completion=False)
        settings_ = {"epilog": exits.TEXT, **settings}
        alone.command(name, cls=_Real, **settings_)(getattr(import_module(f"incast.cli.{module}"), function))
        return alone

    group.command(name, cls=Lazy, help=summary, short_help=summary)(load)
