"""The package's functions for scripts and notebooks."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, Unpack

from pydantic import Field, InstanceOf

from incast.arguments import Small, checked
from incast.lab.base import Count
from incast.lab.scenario import Scenario
from incast.mining.request import make as make_request
from incast.mining.result import MineResult
from incast.mining.run import run as run_mining
from incast.result import Result
from incast.runs import failure, run_all
from incast.scratch import Scratch
from incast.variants import make_variants, seed_list
from incast.walks.options import Options
from incast.walks.result import WalkResult
from incast.walks.run import run as run_walks
from incast.written import WrittenScenario

_R = TypeVar("_R")


@checked()
def run(
    scenario: InstanceOf[Scenario] | str | Path,
    out: str | Path | None = None,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - what the command line calls it
    seeds: Annotated[int, Field(ge=1, le=10_000)] | None = None,
    choice: str | Sequence[str] | None = None,
    force: bool = False,
    jobs: Count | None = None,
    threads: Count | None = None,
) -> Result:
    """Runs a scenario, all its choices side by side, and returns what was measured.

    `scenario` is a `Scenario` or the path of a YAML file. `out` is the result folder; without it, the result
    is kept only as long as the returned object. `set` changes fields, as `{"switch.buffer.size": "1MB"}`.
    `seeds` runs it with so many seeds, from the scenario's on. `choice` is the variant or the variants to run
    (all). `force` overwrites a result. `jobs` is the number of runs at a time (all cores),
    and `threads` that of each run at most (its share of the cores); results do not depend on them. Raises
    `ScenarioError` when the scenario can't run, `OutputError` when the folder can't be written
    (`OutputExistsError`: it holds something), and `RunError` when a run failed on the way.
    """
    written = (
        scenario.written() if isinstance(scenario, Scenario) else WrittenScenario.from_file(Path(scenario))
    ).changed([f"{path}={json.dumps(value, default=str)}" for path, value in (set or {}).items()])
    chosen = [choice] if isinstance(choice, str) else choice or ()
    variants = make_variants(written, chosen, seed_list(written, seeds))

    def done(place: Path) -> Result:
        if failed := failure(run_all(written, variants, place, force=force, jobs=jobs, threads=threads)):
            raise failed
        return Result(place)

    return _into(out, done)


@checked(options=Options)
def walk(
    graph: Any, *, out: str | Path | None = None, force: bool = False, **options: Unpack[Options]
) -> WalkResult:
    """Walks on a graph and returns what came of it.

    `graph` is a networkx graph or what the command takes: the path of a file, or `sbm:…`. `options` are those
    of `incast walk`: `app`, `starts`, `walks`, `restart`, `length`, `p`, `q`, `weighted`, `directed`, `top`,
    `seed`, `threads`, `changes`; `servers` or `cluster`, and with them `partition`, `settings` and `metrics`
    (see `incast.walks.options.Options`). `out` is the result folder; without it, the result is kept only as
    long as the returned object. Ctrl-C ends walks in good order: the result holds those that were finished.
    Raises `ScenarioError` when the graph or a parameter can't be, `OutputExistsError`, and `RunError` when
    servers fail.
    """

    def walked(place: Path) -> WalkResult:
        return run_walks(graph, place, force=force, **options)

    return _into(out, walked)


@checked()
def mine(
    transactions: Any,
    support: str | float,
    confidence: str | float | None = None,
    *,
    longest: Small | None = None,
    kind: str = "all",
    memory: str | Annotated[int, Field(ge=0, lt=2**63)] | None = None,
    threads: Small = 1,
    nodes: Small | None = None,
    cluster: str | None = None,
    algorithm: str | None = None,
    exchange: str | None = None,
) -> MineResult:
    """Finds large itemsets and association rules, and returns them as frames with mlxtend's column names.

    `transactions` is the path of a file that `incast mine` reads, a frame (pandas or Polars: one-hot, or
    with the columns transaction and item), or lists of items. `support` and `confidence` are shares, like
    0.007 or "0.7%". `kind` is all, closed or maximal. With `nodes`, so many processes mine together, on this
    machine or, with `cluster`, on Ray's nodes: `algorithm` is hpa, npa or hpa-eld, `exchange` frequent,
    combined or plain, and the result is the same. Raises `ScenarioError` when an input or a parameter
    can't be, or nothing is large.
    """
    request = make_request(
        support,
        confidence,
        longest=longest,
        kind=kind,
        memory=memory,
        threads=threads,
        nodes=nodes,
        cluster=cluster,
        algorithm=algorithm,
        exchange=exchange,
    )
    return run_mining(transactions, request)


def _into(out: str | Path | None, make: Callable[[Path], _R]) -> _R:
    """What `make` leaves in the folder `out`; without one, in one that goes with the returned object."""
    if out is not None:
        return make(Path(out))
    scratch = Scratch()
    try:
        result = make(scratch.path)
    except BaseException:
        scratch.close()
        raise
    weakref.finalize(result, scratch.close)
    return result
