"""`incast broadcast`: the commands on one source with many receivers.

Without the name of a command, what follows is sent.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from incast.cli import broadcast_agent, broadcast_measure, broadcast_plan, broadcast_send, exits

_SEND = "send"


class _Group(TyperGroup):
    """`incast broadcast FILE …` is `incast broadcast send FILE …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the command in where it is left out."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_SEND, *args]
        return super().parse_args(ctx, args)


broadcast_app = typer.Typer(
    cls=_Group, help="Broadcasts: one source, many receivers, links that differ.", no_args_is_help=True
)
broadcast_app.command(_SEND, epilog=exits.TEXT)(broadcast_send.send)
broadcast_app.command("measure", epilog=exits.TEXT)(broadcast_measure.run)
broadcast_app.command("agent", epilog=exits.TEXT)(broadcast_agent.agent)
broadcast_app.command("plan", epilog=exits.TEXT)(broadcast_plan.plan)
