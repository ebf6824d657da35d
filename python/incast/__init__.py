"""incast: a congestion lab for distributed jobs.

`incast.run(incast.Scenario.from_yaml("hadoop.yaml"))` says how long the jobs take and where their data
waits. The parts of a scenario are in `incast.scenario`.
"""

from incast._version import __version__
from incast.api import run, walk
from incast.compare import compare
from incast.errors import IncastError, OutputExistsError, Problem, ResultError, RunError, ScenarioError
from incast.result import Result
from incast.scenario.model import Scenario
from incast.walks.result import WalkResult

__all__ = [
    "IncastError",
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
    "run",
    "walk",
]
