"""Pauses of PFC: who asked for them and why, and who was paused for how long."""

from __future__ import annotations

from typing import Any

import polars as pl

from incast.network import Tables

_WHY = {
    "congested": "{} is congested",
    "paused": "{} is paused itself",
    "storm": "a broken host",
}


def causes(table: Tables) -> pl.DataFrame:
    """The `pause_causes`, those that lasted longest together first."""
    return table("pause_causes").sort(
        "asked_ps", "port", "class", "cause", "egress", descending=[True, False, False, False, False]
    )


def paused(table: Tables) -> pl.DataFrame:
    """Ports and classes that were paused, the longest first."""
    found = table("pauses").filter(pl.col("paused_ps") > 0)
    columns = ("port", "class", "xoff_received", "xon_received", "paused_ps")
    return found.select(columns).sort("paused_ps", "port", "class", descending=[True, False, False])


def why(row: dict[str, Any]) -> str:
    """The cause in words."""
    return _WHY.get(row["cause"], "{}").format(row["egress"])
