"""Broadcasts: one source, many receivers, and links that differ.

`topology`, `read` and `generate` are what a broadcast is planned on; `plans` makes plans, with the core's
planner and with linear programs (`lp`); `picture` draws them.
"""
