"""`incast walk`: random walks on a graph that people bring."""

from __future__ import annotations

from incast.cli import show
from incast.cli import walk_options as options
from incast.cli.common import Json, place_of, told


def walk(
    graph: options.Graph,
    app: options.App = "ppr",
    start: options.Start = [],  # noqa: B006 - typer's way
    walks: options.Walks = None,
    restart: options.Restart = None,
    length: options.Length = None,
    p: options.Return = None,
    q: options.InOut = None,
    weighted: options.Weighted = False,
    directed: options.Directed = False,
    changes: options.Changes = None,
    seed: options.Seed = 1,
    threads: options.Threads = None,
    servers: options.ServerCount = None,
    cluster: options.Cluster = None,
    partition: options.Partition = None,
    settings: options.Settings = [],  # noqa: B006
    metrics: options.Metrics = None,
    sample: options.Sample = None,
    top: options.Top = 10,
    out: options.Out = None,
    force: options.Force = False,
    as_json: Json = False,
) -> None:
    """Random walks on a graph: PageRank, corpora, SimRank, communities, recommendations."""
    # They load what walks need, which help does not.
    from incast.cli.show_walk import show_result
    from incast.cli.walk_view import View
    from incast.walks.run import run
    from incast.walks.settings import changed

    with told(as_json), View(show.err) as view:
        result = run(
            graph,
            place_of(out, f"walk-{app}", force),
            app=app,
            starts=start,
            walks=walks,
            restart=restart,
            length=length,
            p=p,
            q=q,
            weighted=weighted,
            directed=directed or None,
            top=top,
            seed=seed,
            threads=threads,
            servers=servers,
            cluster=cluster,
            partition=partition,
            settings=changed(settings, sample),
            changes=changes,
            metrics=metrics,
            force=force,
            watch=view,
        )
    show_result(result, as_json)
