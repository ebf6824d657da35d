"""Live runs: one operating system process a host, on this machine or on others, over real sockets.

`launch` starts members and carries addresses, progress and reports between them (`control`); a member runs
what its work says (`member`). Not here: what is run. A scenario's jobs are one kind of work (`jobs`); a
part of the lab with processes of its own names a function of its own.
"""

from __future__ import annotations

from incast.live.jobs import run_jobs
from incast.live.launch import Host, Launch, Outcome

__all__ = ["Host", "Launch", "Outcome", "run_jobs"]
