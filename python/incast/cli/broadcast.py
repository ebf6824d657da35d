"""`incast broadcast`: the commands on one source with many receivers."""

from __future__ import annotations

import typer

from incast.cli import broadcast_plan, exits

broadcast_app = typer.Typer(
    help="Broadcasts: one source, many receivers, links that differ.", no_args_is_help=True
)
broadcast_app.command("plan", epilog=exits.TEXT)(broadcast_plan.plan)
