"""`incast new`: a first scenario from four questions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from incast import new as first
from incast.cli import show
from incast.cli.common import Json, told
from incast.errors import OutputError, ScenarioError
from incast.folder import write_text

_OF = {question.key: question for question in first.QUESTIONS}


def _help(key: str) -> str:
    question = _OF[key]
    allowed = f" {', '.join(question.allowed)}." if question.allowed else ""
    return f"{question.text}{allowed} Default: {question.default}."


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The scenario's name; NAME.yaml is written.")],
    hosts: Annotated[str | None, typer.Option(metavar="N", help=_help("hosts"))] = None,
    rate: Annotated[str | None, typer.Option(metavar="RATE", help=_help("rate"))] = None,
    job: Annotated[str | None, typer.Option(metavar="KIND", help=_help("job"))] = None,
    compare: Annotated[str | None, typer.Option(metavar="WHAT", help=_help("compare"))] = None,
    as_json: Json = False,
) -> None:
    """Write a first scenario: a terminal asks four questions, which options answer too."""
    with told(as_json):
        file = Path(f"{name}.yaml")
        first.check(name, {})
        if file.exists():
            raise OutputError(f"{file} is there already: nothing was written")
        given = {"hosts": hosts, "rate": rate, "job": job, "compare": compare}
        asks = sys.stdin.isatty() and not as_json
        answers: dict[str, str] = {}
        for key, said in given.items():
            answer = said if said is not None or asks else _OF[key].default
            answers[key] = _asked(name, answers, key) if answer is None else answer
            first.check(name, answers)
        write_text(file, first.scenario(name, answers))
    if as_json:
        show.print_json({"written": [str(file)]})
        return
    show.out.print(f"Written: {file}", soft_wrap=True, highlight=False, markup=False)
    show.out.print(f"Next: incast run {file}", soft_wrap=True, highlight=False, markup=False)


def _asked(name: str, answers: dict[str, str], key: str) -> str:
    """The answer from the terminal; the question is asked until it has a good one."""
    question = _OF[key]
    allowed = f" ({', '.join(question.allowed)})" if question.allowed else ""
    while True:
        answer: str = typer.prompt(f"{question.text}{allowed}", default=question.default)
        try:
            first.check(name, {**answers, key: answer})
        except ScenarioError as error:
            for problem in error.problems:
                typer.echo(f"  {problem.message}", err=True)
            continue
        return answer
