"""`incast diverge`: the first event in which two scenarios differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incast import _core
from incast.cli import show
from incast.cli.common import Json, ScenarioFile, told
from incast.cli.exits import Exit

if TYPE_CHECKING:
    from incast.written import WrittenScenario


def diverge(
    scenario: ScenarioFile,
    other: Annotated[
        Path | None, typer.Argument(metavar="[OTHER]", help="Another scenario; default: the same again.")
    ] = None,
    changes: Annotated[
        list[str],
        typer.Option("--set", metavar="PATH=VALUE", help="Change a field of the other; may be repeated."),
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Run two scenarios event by event and name the first event that differs; exit code 3 if one does."""
    from incast.written import WrittenScenario

    with told(as_json):
        left, right = (
            _single(WrittenScenario.from_file(path, said))
            for path, said in ((scenario, []), (other or scenario, changes))
        )
        found = _core.diverge(left, right, lambda _: True)
    if as_json:
        after, first, second = found or (None, None, None)
        show.print_json({"equal": found is None, "after": after, "first": first, "second": second})
    elif found is None:
        show.out.print("All events are equal.")
    else:
        after, first, second = found
        lines = f"After {after} equal events:\n  {first}\n  {second}"
        show.out.print(lines, soft_wrap=True, highlight=False, markup=False)
    if found:
        raise typer.Exit(Exit.DIFFERENT)


def _single(written: WrittenScenario) -> _core.Scenario:
    """The scenario without its choices."""
    from incast.lab.resolve import resolve  # It takes a while, and help needs none.
    from incast.lab.scenario import Scenario
    from incast.lab.validate import validate

    document = written.variant("")
    return resolve(validate(document, Scenario), document, written.folder).core
