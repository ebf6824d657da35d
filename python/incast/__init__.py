"""incast: a congestion lab for distributed jobs.

`incast.run(incast.Scenario.from_yaml("hadoop.yaml"))` says how long the jobs take and where their data
waits. The parts of a scenario are in `incast.scenario`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from incast.errors import (
    IncastError,
    OutputError,
    OutputExistsError,
    Problem,
    ResultError,
    RunError,
    ScenarioError,
)

if TYPE_CHECKING:
    from incast._version import __version__
    from incast.api import mine, run, walk
    from incast.comparison import compare
    from incast.lab.scenario import Scenario
    from incast.mining.result import MineResult
    from incast.result import Result
    from incast.walks.result import WalkResult

__all__ = [
    "IncastError",
    "MineResult",
    "OutputError",
    "OutputExistsError",
    "Problem",
    "Result",
    "ResultError",
    "RunError",
    "Scenario",
    "ScenarioError",
    "WalkResult",
    "__version__",
    "compare",
    "mine",
    "run",
    "walk",
]

_PLACES = {
    "MineResult": "incast.mining.result",
    "Result": "incast.result",
    "Scenario": "incast.lab.scenario",
    "WalkResult": "incast.walks.result",
    "__version__": "incast._version",
    "compare": "incast.comparison",
    "mine": "incast.api",
    "run": "incast.api",
    "walk": "incast.api",
}


def __getattr__(name: str) -> Any:
    """Loads the module of a name when it is first used: a member of a live run needs few of them."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
