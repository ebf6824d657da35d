"""A page of a file that stays in a group: without one the kernel can end a program that has pages to give.

Short of room, the kernel looks through a group's inactive pages and its files' pages, and makes active ones
inactive on the way (mm/vmscan.c, `shrink_lruvec`). With none to look through it goes by its count of inactive
ones, up to four seconds old: that may say there are plenty where all are active, and nothing is found.

A page just read waits in its processor's own batch (mm/swap.c, `lru_add`) until that has 31, and nobody else
finds it there. Advice to drop a page that can't be dropped empties every processor's batch (mm/fadvise.c).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from incast.errors import RunError
from incast.farmem.swap.device import Device
from incast.farmem.swap.group import Group

_PAGE = 4096


@contextmanager
def page(device: Device, group: Group) -> Iterator[Device]:
    """Until this is left. The page is the second of a device: what its swap holds never passes through it.

    Raises `RunError` where it can't be had.
    """
    out, into = os.pipe()
    try:
        # It is the group's whose process reads it first, and stays because a pipe has it.
        command = ["dd", f"if={device.path}", "of=/dev/null", f"bs={_PAGE}", "skip=1", "count=1"]
        try:
            subprocess.run(command, preexec_fn=group.enter, check=True, capture_output=True)
            with device.path.open("rb") as opened:
                os.splice(opened.fileno(), into, _PAGE, offset_src=_PAGE)
                os.posix_fadvise(opened.fileno(), _PAGE, _PAGE, os.POSIX_FADV_DONTNEED)
        except (OSError, subprocess.SubprocessError) as error:
            raise RunError(f"--backend swap can't hold a page of {device.path}: {error}") from error
        yield device
    finally:
        os.close(out)
        os.close(into)
