"""`incast generate quest`: transactions to try mining on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from incast.cli import show
from incast.cli.common import ForceFile, told
from incast.mining.quest import LIKE, generate, like


def _of(help_: str, metavar: str | None = None) -> Any:
    return typer.Option(help=f"{help_}; default: as --like says.", metavar=metavar)


def quest(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The text file, one transaction per line; .gz and .zst are compressed."
        ),
    ],
    like_: Annotated[
        str, typer.Option("--like", metavar="NAME", help=f"Begin with the parameters of: {', '.join(LIKE)}.")
    ] = "vldb94",
    transactions: Annotated[int | None, _of("|D|: transactions")] = None,
    length: Annotated[float | None, _of("|T|: mean items of a transaction", "ITEMS")] = None,
    pattern: Annotated[float | None, _of("|I|: mean items of a pattern", "ITEMS")] = None,
    patterns: Annotated[int | None, _of("|L|: patterns")] = None,
    items: Annotated[int | None, _of("N: items")] = None,
    correlation: Annotated[
        float | None, _of("Mean share of a pattern's items taken from the previous pattern", "SHARE")
    ] = None,
    confidence: Annotated[
        float | None, _of("Mean probability that a pattern loses no more items: 1 − corruption", "P")
    ] = None,
    deviation: Annotated[float | None, _of("Standard deviation of that probability", "P")] = None,
    seed: Annotated[int | None, _of("All randomness derives from it")] = None,
    threads: Annotated[int, typer.Option(help="Threads; the file is the same.")] = 1,
    force: ForceFile = False,
) -> None:
    """Generate synthetic transactions as Agrawal and Srikant 1994 (Quest)."""
    with told(as_json=False):
        wanted = like(
            like_,
            transactions=transactions,
            length=length,
            pattern=pattern,
            patterns=patterns,
            items=items,
            correlation=correlation,
            confidence=confidence,
            deviation=deviation,
            seed=seed,
        )
        generate(wanted, file, threads=threads, force=force)
    show.place(f"{wanted.transactions:,} transactions", file)
