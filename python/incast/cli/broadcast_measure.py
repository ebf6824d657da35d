"""`incast broadcast measure`: the bandwidths between hosts, as a topology."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.broadcast.measure import Measured, measure
from incast.cli import broadcast_options as options
from incast.cli import broadcast_receivers as receivers
from incast.cli import show
from incast.cli.common import ForceFile, Json, told
from incast.cli.exits import Exit
from incast.errors import RunError
from incast.folder import free, write_text
from incast.stop import Stop


def run(
    to: options.To = None,
    cluster: options.Cluster = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The topology, as JSON.")] = Path("net.json"),
    force: ForceFile = False,
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="This machine in the topology; default: its name."),
    ] = None,
    rsh: options.Rsh = None,
    program: options.Program = None,
    key_file: options.KeyFile = None,
    address: options.Address = None,
    patience: options.Patience = options.PATIENCE,
    as_json: Json = False,
) -> None:
    """Measure the bandwidths between hosts: some ten seconds in which they send as much as they can."""
    with told(as_json), ExitStack() as stack:
        asked = receivers.Asked(to, cluster, rsh, program, key_file, address)
        asked.check()
        patience_s = options.patience_s(patience)
        free(out, force)
        name = source or socket.gethostname()
        found = receivers.find(asked, name, None, stack)
        names, key = [name, *found.names], found.way.key()
        stop = stack.enter_context(Stop())
        try:
            net = measure(names, found.way.start, key, found.ip, patience_s=patience_s, stop=stop.event)
        except RunError:
            if stop.asked:  # Nothing could be measured yet.
                raise KeyboardInterrupt from None
            raise
        write_text(out, json.dumps(net.topology, indent=2) + "\n")
    _show(net, out, as_json)
    raise typer.Exit(_code(net))


def _code(found: Measured) -> Exit:
    if found.interrupted:
        return Exit.INTERRUPTED
    return Exit.PARTIAL if found.missing else Exit.OK


def _show(found: Measured, out: Path, as_json: bool) -> None:
    if as_json:
        show.print_json({"file": str(out), **found.json()})
        return
    table = Table(box=box.SIMPLE_HEAD, title="Links", title_justify="left")
    for column in ("", "", "there", "back", "sure"):
        table.add_column(column, justify="right" if column else "left")
    for link, sure in zip(found.topology["links"], found.sure, strict=True):
        rates = text.rate(link["ab"]), text.rate(link["ba"])
        table.add_row(escape(link["a"]), escape(link["b"]), *rates, " / ".join(map(_percent, sure)))
    show.out.print(table)
    show.out.print(
        f"It tells {found.explained:.0%} of the measured rates to within a fifth. "
        f"Sure: the same for flows that a link limited; {text.NONE} where it limited none, so that it may be "
        "faster.",
        highlight=False,
    )
    for host in found.missing:
        show.err.print(f"[yellow]{escape(host)}: {escape(found.failures.get(host, 'not measured'))}[/]")
    show.place("Topology", out)
    if found.interrupted:
        show.interrupted("the topology tells of what was measured until then.", as_json)


def _percent(part: float | None) -> str:
    return text.NONE if part is None else f"{part:.0%}"
