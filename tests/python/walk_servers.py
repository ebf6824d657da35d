"""A small graph for tests of walks on several servers, and ways to walk on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import incast
from incast import _core
from incast.cli.app import app
from incast.errors import ScenarioError
from incast.live.place import Here
from incast.walks import request
from incast.walks.read import read
from incast.walks.servers import OnServers

SBM = "sbm:3,60,0.3,0.05"


def told(arguments: list[str]) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["walk", SBM, *arguments])
    return done.exit_code, done.output


def problem(graph: Any = SBM, **options: Any) -> str:
    with pytest.raises(ScenarioError) as caught:
        incast.walk(graph, **options)
    return str(caught.value)


def graph(**options: Any) -> Any:
    return read(SBM, **{"weighted": False, "directed": None, "seed": 1, **options})


def servers(place: Here, tell: Any = lambda _: None, walks: int = 200) -> OnServers:
    """Two servers that walk on the block model."""
    everywhere = np.arange(60, dtype=np.uint32)
    owners = (everywhere // 30).astype(np.uint16)
    return OnServers(graph().core, request.make("ppr", walks=walks), everywhere, owners, 2, place, tell)


def has_begun(journal: Path, starts: Any, walks: int, paths: bool) -> bool:
    """Whether there are walks in a journal; its first record may be there in part."""
    try:
        return journal.exists() and noted(journal, starts, walks, paths) > 0
    except ValueError:
        return False


def noted(journal: Path, starts: Any, walks: int, paths: bool) -> int:
    """Walks from these nodes that are in a journal."""
    found = _core.walk_journal(str(journal), starts, walks, paths)
    return len(found[0]) // 4 if paths else int(np.frombuffer(found[2], np.uint64).sum())
