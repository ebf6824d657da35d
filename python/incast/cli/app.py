"""The commands of `incast`; each does one call into the package and shows what came of it."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from incast import __version__, _core, report, schema, trace
from incast.api import seed_list
from incast.cli import broadcast, exits, farmem, show, study
from incast.cli import mine as mining
from incast.cli import walk as walking
from incast.cli.common import Json, told
from incast.cli.exits import Exit
from incast.cli.generate import generate_app
from incast.cli.progress import Bars
from incast.comparison import by_choice, ways
from incast.comparison import compare as compare_results
from incast.folder import TRACE
from incast.incomplete import STUCK
from incast.lab.resolve import resolve
from incast.lab.validate import validate as validate_model
from incast.report import text
from incast.result import Result
from incast.runs import failure, run_all
from incast.source import Source, describe

app = typer.Typer(
    name="incast",
    help="A congestion lab for distributed jobs: how long a job takes, and where its data waits.",
    epilog=exits.TEXT,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="The scenario, a YAML file.")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A result folder.")]
Changes = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Change a field, like switch.buffer.alpha=4; may be repeated."
    ),
]


def _version(asked: bool) -> None:
    if asked:
        show.out.print(f"incast {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command(epilog=exits.TEXT)
def run(
    scenario: ScenarioFile,
    changes: Changes = [],  # noqa: B006 - typer's way
    out: Annotated[Path | None, typer.Option(help="Result folder; default: results/<name>.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a result.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Another seed than the scenario's.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=2, max=10_000, help="Run so many seeds, for intervals.")
    ] = None,
    choice: Annotated[list[str], typer.Option(help="Run only this choice; may be repeated.")] = [],  # noqa: B006
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Runs at a time; default: all cores.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Run its jobs on sockets of this machine, a process a host.")
    ] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.html.")] = False,
    as_json: Json = False,
) -> None:
    """Simulate a scenario, or run it live: all its choices side by side."""
    with told(as_json):
        source = Source.from_file(scenario, [*changes, *([f"seed={seed}"] if seed is not None else [])])
        plans = source.plans(choice, seed_list(source, seeds))
        place = out or Path("results") / plans[0].scenario.name
        names = [
            f"{plan.choice or plan.scenario.name}{f' seed {plan.scenario.seed}' if seeds else ''}"
            for plan in plans
        ]
        with Bars(names, show.err) as bars:
            done = run_all(source, plans, place, force=force, jobs=jobs, watch=bars.watch, live=live)
        failed = failure(done)
        written = None
        if not no_report and not failed:
            written = report.write(place)
        result = None if failed else Result.open(place)
        if result:
            _show_result(result, written, as_json)
        if failed:
            raise failed
        assert result
        if result.interrupted:
            show.err.print("[yellow]Interrupted: the result holds what was measured until then.[/]")
            raise typer.Exit(Exit.INTERRUPTED)
        if code := _code(result):
            raise typer.Exit(code)


def _code(result: Result) -> Exit:
    """How the runs ended, the worst first."""
    ends = {run.summary.get("end") for run in result.runs}
    if STUCK in ends:
        return Exit.FAILED
    if "deadlock" in ends:
        return Exit.DEADLOCK
    if result.incomplete:
        return Exit.INCOMPLETE
    return Exit.OK if result.passed else Exit.THRESHOLD


def _show_result(result: Result, written: Path | None, as_json: bool) -> None:
    if as_json:
        content = {
            "incomplete": result.incomplete,
            "folder": str(result.path),
            "report": str(written) if written else None,
            "runs": [{"folder": str(run.path), **run.summary} for run in result.runs],
        }
        show.print_json(content)
        return
    show.incomplete(result.runs)
    choices = by_choice(result)
    if len(result.runs) > 1:
        show.out.print(show.choices(choices))
    else:
        show.out.print(show.jobs(result))
        show.out.print(show.network(result), highlight=False)
    show.deadlocks(result.runs)
    show.unfinished(result.runs)
    show.thresholds(result.runs)
    show.fingerprint(result)
    show.place("Result", result.path)
    if written:
        show.place("Report", written)


@app.command(epilog=exits.TEXT)
def validate(
    scenario: ScenarioFile,
    changes: Changes = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Check a scenario, all its choices and the files that it names, without running it."""
    with told(as_json):
        found = describe(Source.from_file(scenario, changes).plans())
    if as_json:
        show.print_json({"ok": True, **found})
        return
    nouns = {"host": "hosts", "switch": "switches", "link": "links", "job": "jobs", "fault": "faults"}
    counted = [text.plural(found[many], one, many) for one, many in nouns.items()]
    names = f"; choices: {', '.join(found['choices'])}" if found["choices"] else ""
    show.out.print(f"{scenario} is fine: {', '.join(counted)}{names}", soft_wrap=True, highlight=False)


@app.command("schema")
def print_schema() -> None:
    """Print the JSON Schema of a scenario, by which editors complete and check it."""
    show.print_json(schema.published())


@app.command()
def example() -> None:
    """Print a small scenario to start from."""
    typer.echo(files("incast").joinpath("starter.yaml").read_text("utf-8"), nl=False)


@app.command("report", epilog=exits.TEXT)
def write_report(
    run: RunFolder,
    as_json: Json = False,
) -> None:
    """Write report.html of a result anew."""
    with told(as_json):
        result = Result.open(run)
        written = report.write(result.path)
    show.written("report", written, as_json)


@app.command("trace", epilog=exits.TEXT)
def write_trace(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The trace; default: trace.pftrace in the result."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a run as a Perfetto trace: tasks, flows and queues on one time axis, for ui.perfetto.dev."""
    with told(as_json):
        result = Result.open(run)
        written = trace.write(result, out or result.path / TRACE)
    show.written("trace", written, as_json)


@app.command("diverge", epilog=exits.TEXT)
def find_divergence(
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
    """Run two scenarios event by event and name the first event that differs; code 3 when one does."""
    with told(as_json):
        left, right = (
            _single(Source.from_file(path, said))
            for path, said in ((scenario, []), (other or scenario, changes))
        )
        found = _core.diverge(json.dumps(left), json.dumps(right), lambda _: True)
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


def _single(source: Source) -> dict[str, Any]:
    """The scenario without its choices."""
    document = source.variant("")
    return resolve(validate_model(document), document, source.folder).spec


@app.command("compare", epilog=exits.TEXT)
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A result folder, or a choice's.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another.")],
    as_json: Json = False,
) -> None:
    """Show what differs between two results; with several seeds, with intervals of 95 %."""
    with told(as_json):
        left, right = Result.open(a), Result.open(b)
        found = compare_results(left, right)
    if as_json:
        missing = {"a": left.incomplete, "b": right.incomplete}
        listed = [each.json() for each in found]
        show.print_json({"a": str(a), "b": str(b), "incomplete": missing, "differences": listed})
        return
    for result in (left, right):
        show.incomplete(result.runs, str(result.path))
    known = {".".join(way): metric for way, metric in ways(run.summary for run in (*left.runs, *right.runs))}
    names = (a.name, b.name) if a.name != b.name else (str(a), str(b))
    show.out.print(show.differences(found, known, names))


app.command(epilog=exits.TEXT)(walking.walk)
app.command(epilog=exits.TEXT)(mining.mine)
app.add_typer(generate_app, name="generate")
app.add_typer(broadcast.broadcast_app, name="broadcast")
app.add_typer(farmem.farmem_app, name="farmem")
app.add_typer(study.study_app, name="study")
app.command(epilog=exits.TEXT)(study.calibrate)
app.command(epilog=exits.TEXT)(study.reproduce)
