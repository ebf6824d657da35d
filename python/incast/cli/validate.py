"""`incast validate`, `schema` and `example`: a scenario before anything runs."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from incast import text
from incast.cli import show
from incast.cli.common import Changes, Json, ScenarioFile, told


def validate(
    scenario: ScenarioFile,
    changes: Changes = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Check a scenario, all its variants and the files that it names, without running it."""
    from incast.variants import describe, make_variants  # They take a while, and help needs none.
    from incast.written import WrittenScenario

    with told(as_json):
        found = describe(make_variants(WrittenScenario.from_file(scenario, changes)))
    if as_json:
        show.print_json({"ok": True, **found})
        return
    nouns = {"host": "hosts", "switch": "switches", "link": "links", "job": "jobs", "fault": "faults"}
    counted = [text.plural(found[many], one, many) for one, many in nouns.items()]
    names = f"; choices: {', '.join(found['choices'])}" if found["choices"] else ""
    show.out.print(f"{scenario} is fine: {', '.join(counted)}{names}", soft_wrap=True, highlight=False)


def print_schema() -> None:
    """Print the JSON Schema of a scenario, by which editors complete and check it."""
    from incast import schema
    from incast.lab.scenario import Scenario

    show.print_json(schema.published(Scenario))


def example(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="An example; default: a small scenario, which is printed."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the examples, and what each is about.")] = False,
    as_json: Json = False,
) -> None:
    """Write an example scenario into this folder, with the files that it names."""
    with told(as_json):
        if list_:
            _list_examples(as_json)
        elif name is None:
            typer.echo(files("incast").joinpath("starter.yaml").read_text("utf-8"), nl=False)
        else:
            _write_example(name, as_json)


def _list_examples(as_json: bool) -> None:
    from incast import examples

    found = examples.listed()
    if as_json:
        show.print_json({"examples": found})
        return
    width = max(map(len, found))
    for name, about in found.items():
        show.out.print(f"{name:{width}}  {about}", soft_wrap=True, highlight=False, markup=False)


def _write_example(name: str, as_json: bool) -> None:
    from incast import examples

    written = [str(each) for each in examples.write(name, Path())]
    if as_json:
        show.print_json({"written": written})
        return
    show.out.print(f"Written: {', '.join(written)}", soft_wrap=True, highlight=False)
    show.out.print(f"Next: incast run {written[0]}", soft_wrap=True, highlight=False)
