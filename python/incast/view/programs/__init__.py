"""Programs on real hosts as the page sees them: nodes and connections, without a simulated network.

`program` is what they share; `broadcast`, `walks` and `mining` read their tables. `arrange` places nodes,
`resample` turns rows into the cells that the page draws.
"""
