"""Studies: a scenario with axes, the published figures that it answers to, and the claims that it tests.

A study is a folder: `study.yaml`, `claims.toml`, `published.csv`, and what a calibration found. This package
turns it into runs, their figures into tables, and those into verdicts. It simulates nothing itself.
"""

from incast.study.load import load
from incast.study.study import Study

__all__ = ["Study", "load"]
