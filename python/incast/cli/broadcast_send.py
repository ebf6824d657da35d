"""`incast broadcast FILE`: a file or folder to many hosts at once."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from incast import text
from incast.broadcast.foresee import Foreseen, foresee
from incast.broadcast.measure import measure, with_missing
from incast.broadcast.nodes import check_dest
from incast.broadcast.record import Record
from incast.broadcast.send import Broadcast, Receipt, Sent, Status, look
from incast.broadcast.send import send as send_now
from incast.cli import broadcast_options as options
from incast.cli import broadcast_receivers as receivers
from incast.cli import broadcast_send_options as choices
from incast.cli import show
from incast.cli.broadcast_dry_run import show_foreseen
from incast.cli.broadcast_view import View
from incast.cli.common import Json, told
from incast.cli.exits import Exit
from incast.errors import Problem, RunError, ScenarioError
from incast.folder import numbered
from incast.hints import unknown
from incast.quantity import parse_bytes, parse_rate
from incast.scratch import Scratch
from incast.stop import Stop

STDIN = "-"
MEASURED_BYTES = 8 << 30
"""Measuring takes ten seconds, and finds groups of hosts. Of less, the first chunks tell rates."""
RATE_MIN = 1000
_STATES = {"complete": "green", "failed": "red", "unreachable": "red", "interrupted": "yellow"}


def send(
    file: choices.File,
    to: options.To = None,
    cluster: options.Cluster = None,
    dest: choices.Dest = None,
    force: choices.Force = False,
    exclude: choices.Exclude = [],  # noqa: B006 - typer's way
    owner: choices.Owner = False,
    dry_run: choices.DryRun = False,
    rsh: options.Rsh = None,
    program: options.Program = None,
    key_file: options.KeyFile = None,
    address: options.Address = None,
    patience: options.Patience = options.PATIENCE,
    rate: choices.Rate = None,
    plain: choices.Plain = False,
    topology: choices.Topology = None,
    source: choices.Source = None,
    algorithm: choices.Algorithm = "stable",
    chunk: choices.Chunk = None,
    out: choices.Out = None,
    as_json: Json = False,
) -> None:
    """Send a file or folder to many hosts; slow ones don't slow the others."""
    with told(as_json), ExitStack() as stack:
        limit = None if rate is None else _rate(rate)
        silence_s = options.patience_s(patience)
        asked = receivers.Asked(to, cluster, rsh, program, key_file, address)
        _check(asked, file, dest, algorithm)
        known = _topology(topology)
        name = _own_name(known, source)
        found = receivers.find(asked, name, None if known is None else _hosts_of(known), stack)
        content = look(stack.enter_context(_spooled()) if file == STDIN else Path(file), exclude, owner)
        stop = stack.enter_context(Stop())
        # Measuring takes all that hosts can send.
        measured = known is None and limit is None and len(found.names) > 1
        measured = measured and content.bytes >= MEASURED_BYTES
        if measured and not dry_run:
            known = _measured([name, *found.names], found, silence_s, stop)
        broadcast = Broadcast(
            content,
            found.names,
            found.way,
            found.way.key(),
            found.ip,
            name,
            known,
            measured=measured,
            dest=dest,
            algorithm=algorithm,
            chunk=None if chunk is None else _size(chunk),
            force=force,
            rate=limit,
            sealed=not plain,
            patience_s=silence_s,
            stop=stop.event,
        )
        if dry_run:
            show_foreseen(_foreseen(broadcast, found.agents), measured, as_json)
            raise typer.Exit
        folder = None if out is None else numbered(out)
        with Record(folder, name, broadcast.names) as record, View(show.err, broadcast.names) as view:

            def see(statuses: Mapping[int, Status]) -> None:
                view.see(statuses)
                record.see(statuses)

            sent = send_now(broadcast, see)
            record.end(sent)
        _show(sent, folder, as_json)
    raise typer.Exit(_code(sent))


def _check(asked: receivers.Asked, file: str, dest: str | None, algorithm: str) -> None:
    """Refuses options that can't be as they are."""
    if algorithm not in choices.ALGORITHMS:
        raise ScenarioError([Problem(unknown("an algorithm", algorithm, choices.ALGORITHMS), "--algorithm")])
    asked.check()
    if asked.cluster is not None:
        check_dest(dest)
    if file == STDIN and (dest is None or dest.endswith("/")):
        message = "standard input has no name: say where the copies will be"
        raise ScenarioError([Problem(message, "--dest")])


def _foreseen(broadcast: Broadcast, agents: Collection[str]) -> Foreseen:
    try:
        return foresee(broadcast, agents)
    except ValueError as error:
        raise ScenarioError([Problem(str(error), f"--algorithm {broadcast.algorithm}")]) from None


def _measured(names: list[str], found: receivers.Receivers, patience_s: float, stop: Stop) -> dict[str, Any]:
    """The topology as it was measured. Raises `KeyboardInterrupt` when somebody did not want to wait."""
    try:
        with show.err.status("Measuring bandwidths, which takes some ten seconds"):
            key = found.way.key()
            net = measure(names, found.way.start, key, found.ip, patience_s=patience_s, stop=stop.event)
    finally:
        if stop.asked:
            raise KeyboardInterrupt
    tells = f"{net.explained:.0%} of the rates to within a fifth"
    show.err.print(f"Bandwidths measured; the topology tells {tells}", highlight=False)
    return with_missing(net)


@contextmanager
def _spooled() -> Iterator[Path]:
    """Standard input in a file: receivers ask for chunks in any order, and again."""
    with Scratch() as scratch:
        # Copies have its permissions, as files that the user makes have; others can't look into the folder.
        path = scratch.path / "input"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        yield path


def _topology(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    from incast.broadcast.read import read

    return read(path).json()


def _hosts_of(topology: dict[str, Any]) -> list[str]:
    return [node["id"] for node in topology["nodes"] if node["kind"] == "host"]


def _own_name(topology: dict[str, Any] | None, said: str | None) -> str:
    """The name of this machine, in a topology if there is one."""
    own = said or socket.gethostname()
    if topology is None:
        return own
    known = _hosts_of(topology)
    for name in (own,) if said else (own, own.partition(".")[0]):
        if name in known:
            return name
    raise ScenarioError([Problem(unknown("a host of the topology", own, known), "--source")])


def _size(said: str) -> int:
    try:
        return int(parse_bytes(said))
    except ValueError as error:
        raise ScenarioError([Problem(str(error), "--chunk")]) from None


def _rate(said: str) -> int:
    try:
        rate = int(parse_rate(said))
    except ValueError as error:
        raise ScenarioError([Problem(str(error), "--rate")]) from None
    if rate < RATE_MIN:
        raise ScenarioError([Problem(f"{said}: at least 1kbps is allowed", "--rate")])
    return rate


def _code(sent: Sent) -> Exit:
    if sent.interrupted and sent.failed is None:
        return Exit.INTERRUPTED
    if sent.failed is not None:
        return Exit.FAILED
    return Exit.OK if all(receipt.state == "complete" for receipt in sent.receipts) else Exit.PARTIAL


def _show(sent: Sent, folder: Path | None, as_json: bool) -> None:
    if as_json:
        show.print_json(({} if folder is None else {"folder": str(folder)}) | sent.json())
        return
    show.out.print(_table(sent))
    if folder is not None:
        show.place("Result", folder)
    if sent.failed is not None:
        show.error(RunError(sent.failed), as_json)
    elif any(receipt.state == "interrupted" for receipt in sent.receipts):
        show.err.print(
            "[yellow]Interrupted: the same command goes on where hosts are now.[/]", soft_wrap=True
        )


def _table(sent: Sent) -> Table:
    table = Table(box=box.SIMPLE_HEAD, title=f"Broadcast of {text.size(sent.bytes)}", title_justify="left")
    for column in ("", "", "time", "rate", "best possible", ""):
        table.add_column(column, justify="right" if column else "left", overflow="fold")
    for receipt in sent.receipts:
        state = f"[{_STATES[receipt.state]}]{receipt.state}[/]"
        table.add_row(
            escape(receipt.host),
            state,
            _time(receipt),
            text.rate(receipt.rate_bps),
            text.rate(receipt.best_bps),
            escape(_note(receipt, sent.bytes)),
        )
    return table


def _time(receipt: Receipt) -> str:
    return text.NONE if receipt.seconds is None else text.time(receipt.seconds * 1e12)


def _note(receipt: Receipt, total: int) -> str:
    parts = [receipt.why] if receipt.why else []
    if receipt.state != "complete" and total and receipt.bytes:
        parts.append(f"{receipt.bytes / total:.0%} is there")
    if receipt.state == "complete" and total and receipt.resumed == total:
        parts.append("already complete")
    elif receipt.resumed:
        parts.append(f"{text.size(receipt.resumed)} were there")
    if receipt.restarts:
        parts.append(text.plural(receipt.restarts, "restart"))
    return "; ".join(parts)
