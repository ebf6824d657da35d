"""The lab of a scenario, one module per subject: what people write, its checks, and its form for the core.

What the lab is asked to do is in `incast.kinds`, one module per kind of job.
"""
