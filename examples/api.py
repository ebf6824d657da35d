"""How deep may the queue be marked? The same incast at four thresholds, from Python."""

import polars as pl

import incast

base = incast.Scenario.from_yaml("examples/first.yaml")
