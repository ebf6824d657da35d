"""HiGHS, quiet and on one thread, so that the same program has the same solution each time."""

from __future__ import annotations

import highspy


def solver(**options: int) -> highspy.Highs:
    """A program without rows and columns, to be maximised."""
    found = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        found.setOptionValue(name, value)
    found.changeObjectiveSense(highspy.ObjSense.kMaximize)
    return found
