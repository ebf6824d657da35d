"""The list of all commands; each is one function elsewhere, loaded when it is called."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from incast.cli import exits
from incast.cli.lazy import lazy
from incast.cli.values import take_plain


class _List(TyperGroup):
    """A list of commands, as plain text: what draws frames around it takes long to load."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help that typer writes where there is no rich."""
        super(TyperGroup, self).format_help(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Takes the options before the command; where nothing follows, prints the help."""
        take_plain(self, ctx)
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            # typer expects that the help was drawn by then, and prints nothing.
            typer.echo(ctx.get_help(), err=True)
            ctx.exit(exits.Exit.USAGE)
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="incast",
    cls=_List,
    help="A congestion lab for distributed jobs: how long a job takes, and where its data waits.",
    epilog=exits.TEXT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from incast import __version__

        typer.echo(f"incast {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _group(name: str, about: str, kind: type[_List] = _List) -> typer.Typer:
    """Commands that belong together."""
    group = typer.Typer(cls=kind, no_args_is_help=True)
    app.add_typer(group, name=name, help=about, short_help=about)
    return group


lazy(app, "run", "run:run", "Simulate a scenario, or run it live: all its variants side by side.")
lazy(
    app,
    "validate",
    "validate:validate",
    "Check a scenario, all its variants and the files that it names, without running it.",
)
lazy(
    app,
    "schema",
    "validate:print_schema",
    "Print the JSON Schema of a scenario, by which editors complete and check it.",
    epilog=None,
)
lazy(
    app,
    "new",
    "new:new",
    "Write a first scenario: a terminal asks four questions, which options answer too.",
)
lazy(
    app,
    "example",
    "validate:example",
    "Write an example scenario into this folder, with the files that it names.",
    epilog=None,
)
lazy(app, "report", "results:write_report", "Rewrite report.html of a result.")
lazy(
    app,
    "trace",
    "results:write_trace",
    "Write a run as a Perfetto trace: tasks, flows and queues on one time axis, for ui.perfetto.dev.",
)
lazy(
    app,
    "view",
    "view:view",
    "Play runs back on a page: queues, pauses and drops on the network, next to the job's tasks.",
    epilog=None,
)
lazy(
    app,
    "metrics",
    "metrics:write_metrics",
    "Write a run's series as OpenMetrics text, for Prometheus to take in as its past.",
)
lazy(
    app,
    "dashboard",
    "metrics:print_dashboard",
    "Print a Grafana dashboard of the series that `incast metrics` writes.",
    epilog=None,
)

shown = _group("show", "Show a run's network as a switch's command line does: buffers, ways, pauses.")
lazy(
    shown,
    "buffers",
    "network:show_buffers",
    "Show watermarks of buffers: shared pools, queues by port and class, priority groups of PFC.",
)
lazy(
    shown,
    "ways",
    "network:show_ways",
    "Show how evenly ECMP used its ways: Jain's index, and the largest way by the even share.",
)
lazy(
    shown,
    "pauses",
    "network:show_pauses",
    "Show pauses of PFC: who asked for them and why, and which ports were paused for how long.",
)

lazy(
    app,
    "diverge",
    "diverge:diverge",
    "Run two scenarios event by event and name the first event that differs; exit code 3 if one does.",
)
lazy(
    app,
    "compare",
    "results:compare",
    "Show what differs between two results; with several seeds, with intervals of 95 %.",
)
lazy(
    app,
    "walk",
    "walk:walk",
    "Random walks on a graph: PageRank, corpora, SimRank, communities, recommendations.",
)
lazy(app, "mine", "mine:mine", "Find large itemsets and association rules in transactions, by Apriori.")

generate = _group("generate", "Generate data to try things on.")


@generate.callback()
def _generate() -> None:
    pass


lazy(
    generate,
    "quest",
    "generate:quest",
    "Generate synthetic transactions as Agrawal and Srikant 1994 (Quest).",
)

_SEND = "send"


class _Broadcast(_List):
    """`incast broadcast FILE …` is `incast broadcast send FILE …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the command in where it is left out."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_SEND, *args]
        return super().parse_args(ctx, args)


broadcast = _group("broadcast", "Broadcasts: one source, many receivers, links that differ.", _Broadcast)
lazy(
    broadcast,
    _SEND,
    "broadcast_send:send",
    "Send a file or folder to many hosts; slow ones don't slow the others.",
)
lazy(
    broadcast,
    "measure",
    "broadcast_measure:run",
    "Measure the bandwidths between hosts: some ten seconds in which they send as much as they can.",
)
lazy(
    broadcast,
    "agent",
    "broadcast_agent:agent",
    "Receive: wait for broadcasts, or take part in one.",
)
lazy(
    broadcast,
    "plan",
    "broadcast_plan:plan",
    "Plan a broadcast: the rate of each destination by every algorithm, and what it could receive alone.",
)

_PROGRAM = {"allow_interspersed_args": False, "ignore_unknown_options": False}
"""What follows the program's name is the program's."""

farmem = _group("farmem", "Remote memory behind a local page cache: what distance costs a program.")
lazy(
    farmem,
    "run",
    "farmem_run:run",
    "Run a program whose anonymous memory is remote, behind local memory of this size.",
    context_settings=_PROGRAM,
)
lazy(
    farmem,
    "grid",
    "farmem_grid:grid",
    "Measure a program's degradation over a grid of remote memories, and compare a prediction.",
    context_settings=_PROGRAM,
)
lazy(
    farmem,
    "serve",
    "farmem_serve:serve",
    "Keep pages of programs that `incast farmem run --server` runs, until Ctrl-C.",
)
lazy(
    farmem,
    "predict",
    "farmem_predict:predict",
    "Predict a traced program's degradation over latency, bandwidth, local memory and page size.",
)
lazy(
    farmem,
    "allocate",
    "farmem_allocate:allocate",
    "Allocate remote memory: assign each program to a node with the least total loss.",
)

emu = _group("emu", "Commands on emulated hosts, whose time goes on only as they need.")
lazy(
    emu,
    "shell",
    "emu:shell",
    "Open a shell on an emulated host. Time stands still between commands; Ctrl-D ends the run.",
)

lazy(
    emu,
    "up",
    "emu:up",
    "Start emulated hosts that wait for `emu run` in the background. Time stands still meanwhile.",
)
lazy(
    emu,
    "run",
    "emu:run",
    "Run a command on a host that `emu up` has started; its exit code is this one's.",
    context_settings=_PROGRAM,
)
lazy(emu, "down", "emu:down", "End what `emu up` has started. Its result is complete then.")

study = _group("study", "Studies: a scenario over all its axes, next to what was published.")
lazy(
    study,
    "run",
    "study:run",
    "Run a study's cells with several seeds, and show our figures next to the published ones.",
)
lazy(
    study,
    "report",
    "study:report",
    "Rewrite the study's page from finished runs: report.html in its result folder.",
)
lazy(
    study,
    "check",
    "study:check",
    "Check a study, its cells, published figures and claims, without running it.",
)
lazy(
    app,
    "calibrate",
    "study:calibrate",
    "Fit a study's parameters to its calibration cells, and freeze them in its folder.",
)
lazy(
    app,
    "reproduce",
    "study:reproduce",
    "Show every claim of the documents: its text, our figures, whether it holds.",
)
