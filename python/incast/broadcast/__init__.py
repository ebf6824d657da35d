"""Broadcasts: one source, many receivers, and links that differ.

`topology`, `read` and `generate` are what a broadcast is planned on; `plans` makes plans, with the core's
planner and with linear programs (`lp`); `picture` draws them. `send` runs one on real hosts: `hosts` reads
the receivers, `remote` starts a member on each (by a `shell`, or an `agent` that waits there), `member`
is what it does; `measure` makes a topology of measured bandwidths.
"""
