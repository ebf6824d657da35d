"""`incast broadcast plan`: which trees each algorithm makes, and what everybody would receive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.broadcast.plans import ALGORITHMS, PROGRAMS, Plan, Request
from incast.broadcast.read import read
from incast.broadcast.topology import Topology
from incast.cli import show
from incast.cli.common import ForceFile, Json, told
from incast.errors import Problem, ScenarioError
from incast.extras import extra
from incast.folder import free, write_json, write_text
from incast.hints import unknown
from incast.lab.select import SelectError, select

_ALL = "all"


def plan(
    topology: Annotated[
        Path,
        typer.Argument(metavar="TOPOLOGY", help="Hosts, switches and bandwidths: YAML, JSON, GraphML, CSV."),
    ],
    source: Annotated[str, typer.Option(metavar="HOST", help="The host that has the data.")],
    to: Annotated[
        list[str],
        typer.Option(
            metavar="HOSTS", help="The destinations, like host[0-7]; may be repeated; default: all others."
        ),
    ] = [],  # noqa: B006 - typer's way
    algorithm: Annotated[
        str,
        typer.Option(metavar="NAME", help="Like stable or highest-aggregate; default: all."),
    ] = _ALL,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random orders.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the plan as JSON.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the plan's trees: *.svg or *.html.")
    ] = None,
    force: ForceFile = False,
    as_json: Json = False,
) -> None:
    """Plan a broadcast: the rate of each destination by every algorithm, and what it could receive alone."""
    with told(as_json):
        request = _request(read(topology), source, to, seed)
        names = _algorithms(algorithm)
        _check_files(len(names), out, picture, force)
        plans, without = _plans(request, names)
        if out:
            write_json(out, plans[0].data)
        if picture:
            with extra("report"):
                from incast.broadcast.picture import draw

            write_text(picture, draw(request.topology, plans[0], page=picture.suffix == ".html"))
    if as_json:
        show.print_json(_plain(request, plans) | {"without_plan": without})
        return
    if len(plans) > 1:
        show.out.print(_compared(request, plans))
    else:
        show.out.print(_destinations(request, plans[0]))
    for name, why in without.items():
        show.out.print(f"{name} has no plan: {why}", soft_wrap=True, highlight=False, markup=False)
    for what, file in (("Plan", out), ("Picture", picture)):
        if file:
            show.place(what, file)


def _request(topology: Topology, source: str, to: list[str], seed: int) -> Request:
    hosts = topology.hosts
    try:
        chosen = [
            name
            for each in to
            for name in select(each, hosts, "a host of the topology")
            if name != source or name == each  # a pattern may mean the source too
        ]
    except SelectError as error:
        raise ScenarioError([Problem(str(error), file="--to")]) from None
    others = [host for host in hosts if host != source]
    request = Request(topology, source, tuple(chosen if to else others), seed)
    request.check()
    return request


def _algorithms(said: str) -> list[str]:
    if said == _ALL:
        return list(ALGORITHMS)
    if said not in ALGORITHMS:
        problem = Problem(unknown("an algorithm", said, [*ALGORITHMS, _ALL]), file=f"--algorithm {said}")
        raise ScenarioError([problem])
    return [said]


def _plans(request: Request, names: list[str]) -> tuple[list[Plan], dict[str, str]]:
    """The plans, and why there is none of some: a chain needs a way from each host to the next."""
    plans, without = [], {}
    for name in names:
        try:
            plans.append(request.plan(name))
        except ScenarioError as error:
            if len(names) == 1:
                raise
            without[name] = error.problems[0].message
    return plans, without


def _check_files(plans: int, out: Path | None, picture: Path | None, force: bool) -> None:
    for option, file in (("--out", out), ("--picture", picture)):
        if file and plans > 1:
            raise ScenarioError(
                [Problem("is of one plan: say which with --algorithm", file=f"{option} {file}")]
            )
    if picture and picture.suffix not in (".svg", ".html"):
        raise ScenarioError(
            [Problem("unknown kind of picture. Allowed: *.svg, *.html", file=f"--picture {picture}")]
        )
    for file in (out, picture):
        if file:
            free(file, force)


def _compared(request: Request, plans: list[Plan]) -> Table:
    """A row an algorithm."""
    most = sum(request.alone.values())
    table = _table(
        f"{escape(request.source)} to {text.plural(len(request.destinations), 'host')}", "algorithm"
    )
    for head in ("aggregate", "of the bound", "lowest rate", "trees", "proved at most"):
        table.add_column(head, justify="right")
    for each in plans:
        proved = text.rate(each.bound) if each.bound is not None else ""
        table.add_row(
            each.algorithm,
            text.rate(each.aggregate),
            f"{each.aggregate / most:.1%}",
            text.rate(each.minimum),
            text.count(len(each.trees)),
            proved,
        )
    table.caption = (
        f"bound: {text.rate(most)}, the sum of what each could receive alone; "
        "proved at most: what no plan exceeds in what the algorithm maximises"
    )
    table.caption_justify = "left"
    return table


def _destinations(request: Request, plan: Plan) -> Table:
    """A row a destination."""
    table = _table(f"{plan.algorithm}: {text.plural(len(plan.trees), 'tree')}", "destination")
    for head in ("rate", "alone", "of it", "trees"):
        table.add_column(head, justify="right")
    within = dict.fromkeys(request.destinations, 0)
    for tree in plan.trees:
        for hop in tree["hops"]:
            within[hop[-1]] += 1
    for name, alone in request.alone.items():
        rate = plan.rates[name]
        table.add_row(
            escape(name), text.rate(rate), text.rate(alone), f"{rate / alone:.1%}", text.count(within[name])
        )
    most = sum(request.alone.values())
    share = f"{plan.aggregate / most:.1%}"
    table.add_section()
    table.add_row(
        "all", text.rate(plan.aggregate), text.rate(most), share, text.count(len(plan.trees)), style="bold"
    )
    if plan.bound is not None:
        what = "lowest rate" if plan.algorithm == "highest-minimum" else "aggregate"
        table.caption, table.caption_justify = (
            f"proved: no plan has a {what} above {text.rate(plan.bound)}",
            "left",
        )
    return table


def _table(title: str, first: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    return table


def _plain(request: Request, plans: list[Plan]) -> dict[str, Any]:
    """As plain data; rates in bit/s."""
    most = sum(request.alone.values())
    listed = [
        {
            "algorithm": each.algorithm,
            "program": each.algorithm in PROGRAMS,
            "aggregate_bps": each.aggregate,
            "minimum_bps": each.minimum,
            "of_bound": each.aggregate / most,
            "proved_at_most_bps": each.bound,
            "trees": len(each.trees),
            "rates_bps": each.rates,
            "plan": each.data,
        }
        for each in plans
    ]
    return {"source": request.source, "bound_bps": most, "alone_bps": request.alone, "plans": listed}
