"""Which program runs on remote memory, and whether a library can be loaded into it: elf(5), ld.so(8).

A script is its interpreter. Static programs have no loader, and programs with privileges of their own
(set-user-ID, file capabilities) get none of the user's libraries.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
from pathlib import Path

from incast.farmem.options import refuse

_SCRIPTS = 5
"""A script may be another script's interpreter; the kernel follows so many."""
_INTERPRETER = 3
"""`PT_INTERP`: the loader's name."""


def find(name: str) -> Path:
    """The program of this name. Raises `ScenarioError` when there is none that takes a library."""
    program = located(name)
    _check(program, name, _SCRIPTS)
    return program


def located(name: str) -> Path:
    """The program of this name. Raises `ScenarioError` when there is none."""
    found = shutil.which(name)
    if found is None:
        refuse("no such program, or it may not be run", name)
    # Absolute: without a slash, starting it would look for it once more.
    return Path(found).absolute()


def _check(program: Path, name: str, scripts: int) -> None:
    head = _head(program, name)
    if head.startswith(b"#!") and scripts:
        interpreter = os.fsdecode(head[2:].split(b"\n")[0].split(maxsplit=1)[0])
        words = os.fsdecode(head[2:].split(b"\n")[0]).split()
        if interpreter.endswith("/env") and len(words) > 1:
            interpreter = shutil.which(words[-1]) or interpreter
        _check(Path(interpreter), name, scripts - 1)
        return
    if head[:5] != b"\x7fELF\x02":
        refuse("it is no program of 64 bits for Linux", name)
    if head[18:20] != _head(Path("/proc/self/exe"), name)[18:20]:
        refuse("it is a program for another processor", name)
    if not _is_dynamic(head):
        refuse(
            f"{program} is linked statically: nothing can be loaded into it. Link it dynamically, run its "
            "dynamic variant, or let the kernel swap it (--backend swap, as root)",
            name,
        )
    mode = program.stat().st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID) or _has_capabilities(program):
        refuse(
            f"{program} runs with privileges of its own (set-user-ID or file capabilities): nothing can be "
            "loaded into it. Run a copy without them (cp does that), or let the kernel swap it "
            "(--backend swap, as root)",
            name,
        )


def _head(program: Path, name: str) -> bytes:
    try:
        with program.open("rb") as file:
            return file.read(4096)
    except OSError as error:
        refuse(f"{program} can't be read: {(error.strerror or str(error)).lower()}", name)


def _is_dynamic(head: bytes) -> bool:
    offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
    starts = (offset + index * size for index in range(count))
    return any(struct.unpack_from("<I", head, at)[0] == _INTERPRETER for at in starts if at + 4 <= len(head))


def _has_capabilities(program: Path) -> bool:
    try:
        return bool(os.getxattr(program, "security.capability"))
    except OSError:
        return False
