"""Whose time a run keeps."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from incast.lab.base import Kind
from incast.lab.quantities import PositiveTime


class Clock(Kind):
    """A clock beside the run: hosts of programs are a part of this machine, with a network of their own.

    It is for programs that are bound by the processor or the disk: computing takes the time that it takes
    here. Packets come late when this machine is busy; how late is a part of the result. It needs root.
    """

    kind: Literal["real"] = "real"
    """This machine's."""
    scale: Annotated[float, Field(ge=1, le=1000)] = 1.0
    """Seconds here for each second of the network: a slower network leaves more time for its packets. The
    timers of programs and of the kernel's TCP are not slower: they are shorter by as much for this
    network."""
    late: PositiveTime = "1ms"
    """A packet that comes later than this, by this machine's time, is late; a run with more than a hundredth
    of late packets says so, and has its own exit code."""
