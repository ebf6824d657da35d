"""From a scenario as people write it to the form that the core reads."""

from incast.resolve.resolve import Resolved, resolve, written

__all__ = ["Resolved", "resolve", "written"]
