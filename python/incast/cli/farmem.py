"""`incast farmem`: the commands on remote memory."""

from __future__ import annotations

import typer

from incast.cli import exits, farmem_allocate, farmem_grid, farmem_predict, farmem_run, farmem_serve
from incast.cli.farmem_options import CONTEXT

farmem_app = typer.Typer(
    help="Remote memory behind a local page cache: what distance costs a program.", no_args_is_help=True
)
farmem_app.command("run", epilog=exits.TEXT, context_settings=CONTEXT)(farmem_run.run)
farmem_app.command("grid", epilog=exits.TEXT, context_settings=CONTEXT)(farmem_grid.grid)
farmem_app.command("serve", epilog=exits.TEXT)(farmem_serve.serve)
farmem_app.command("predict", epilog=exits.TEXT)(farmem_predict.predict)
farmem_app.command("allocate", epilog=exits.TEXT)(farmem_allocate.allocate)
