"""Random walks on a graph that people bring: read, walked, and made into results.

`run` does all of it. In memory the walks are the core's (crates/walk); not here: walks in scenarios
(`incast.resolve.walk`).
"""

from __future__ import annotations

from incast.walks.plan import APPS
from incast.walks.result import WalkResult
from incast.walks.run import run

__all__ = ["APPS", "WalkResult", "run"]
