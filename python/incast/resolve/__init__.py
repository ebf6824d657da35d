"""From a scenario as people write it to the form that the core reads."""

from incast.resolve.resolve import Resolved, resolve

__all__ = ["Resolved", "resolve"]
