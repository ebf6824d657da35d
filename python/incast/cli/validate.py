"""`incast validate`, `schema` and `example`: a scenario before anything runs."""

from __future__ import annotations

from importlib.resources import files

import typer

from incast import schema, text
from incast.cli import show
from incast.cli.common import Changes, Json, ScenarioFile, told
from incast.lab.scenario import Scenario
from incast.variants import describe, make_variants
from incast.written import WrittenScenario


def validate(
    scenario: ScenarioFile,
    changes: Changes = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Check a scenario, all its variants and the files that it names, without running it."""
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
    show.print_json(schema.published(Scenario))


def example() -> None:
    """Print a small scenario to start from."""
    typer.echo(files("incast").joinpath("starter.yaml").read_text("utf-8"), nl=False)
