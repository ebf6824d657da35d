"""The kinds of jobs, one module per kind: what people write, its checks, how it is judged and shown."""
