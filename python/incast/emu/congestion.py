"""Congestion controls that this machine's kernel lacks: BPF programs that a run registers (`crates/emu/bpf`).

A registration is a BPF link (Linux 6.4 or newer), which ends with the descriptor that this process holds. So
the kernel unregisters it however the run ends, by SIGKILL too, and nothing is left behind to clean up. A
connection that still uses it keeps it in memory.

A name is registered once for the whole machine. So each run takes names of its own (`incast_dctcp`, and
`incast_dctcp2` if another run has that), which its hosts are set to. No other program of the machine gets
ours when it asks for `dctcp`, and no run depends on another's.

Source: Documentation/bpf/libbpf in Linux's source.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

from incast.bounded import read_bytes
from incast.emu import kernel
from incast.errors import RunError, why

_PARAMETER = {"dctcp": "dctcp_shift", "htcp": "htcp_rtt_scaling"}
"""The setting of hosts that each program has as its `parameter`."""
_NAME = b"@incast-name@\0\0\0"
"""Stands in the programs (congestion.h); the kernel has 16 bytes for a name, with its end."""
_RUNS_MAX = 99
"""Programs of one kind at a time on this machine, at most: then the names are too long."""
_BYTES_MAX = 1 << 20
_LINK = 1 << 13
"""BPF_F_LINK of linux/bpf.h: registered by a link."""
_STRUCT_OPS = 44
"""BPF_STRUCT_OPS there."""
_OWN_ERRORS = 4000
"""Where libbpf's own numbers of errors begin (LIBBPF_ERRNO__START)."""

Registered: TypeAlias = Sequence[tuple[str, int, str]]
"""Each a congestion control, its own setting, and what the kernel calls it."""


@contextmanager
def registered(hosts: Iterable[Mapping[str, Any]]) -> Iterator[Registered]:
    """What the kernel lacks for hosts with these settings is registered meanwhile.

    Raises `RunError` where the kernel refuses it.
    """
    asked = {
        (congestion, int(host["tcp"][_PARAMETER[congestion]]))
        for host in hosts
        if (congestion := host["tcp"]["congestion"]) in _PARAMETER and kernel.needs_bpf(congestion)
    }
    with ExitStack() as stack:
        names = []
        for congestion, parameter in sorted(asked):
            link, name = _register(congestion, parameter)
            stack.callback(os.close, link)
            names.append((congestion, parameter, name))
        yield names


def _register(congestion: str, parameter: int) -> tuple[int, str]:
    """Registers a program under the first name that is free: the descriptor, and the name."""
    path = kernel.bpf(congestion)
    try:
        program = read_bytes(path, _BYTES_MAX)
    except OSError as error:
        raise RunError(f"{path}: {why(error)}") from None
    if program.count(_NAME) != 1:
        raise RunError(f"{path} is no congestion control of this version: make bpf builds it")
    try:
        for number in range(1, _RUNS_MAX + 1):
            name = f"incast_{congestion}{number if number > 1 else ''}"
            named = program.replace(_NAME, name.encode().ljust(len(_NAME), b"\0"))
            try:
                return _link(named, parameter), name
            except FileExistsError:
                continue
    except OSError as error:
        raise RunError(
            f"the kernel refuses {congestion} as a BPF program: {why(error)}. This takes root "
            f"and Linux 6.4 or newer. If {path} was built for another kernel, make bpf builds it again"
        ) from None
    raise RunError(f"{_RUNS_MAX} runs with {congestion} are on this machine already")


def _link(program: bytes, parameter: int) -> int:
    """Loads a program and registers it, until the descriptor is closed. Raises `OSError`."""
    lib = _library()
    opened = _checked(lib.bpf_object__open_mem(program, len(program), None))
    try:
        find = lib.bpf_object__find_map_by_name
        value = ctypes.byref(ctypes.c_uint32(parameter))
        _checked(lib.bpf_map__set_initial_value(_checked(find(opened, b".rodata")), value, 4) == 0)
        control = _checked(find(opened, b"congestion_control"))
        _checked(lib.bpf_map__set_map_flags(control, _LINK) == 0)
        _checked(lib.bpf_object__load(opened) == 0)
        attached = _checked(lib.bpf_map__attach_struct_ops(control))
        try:
            held, table = lib.bpf_link__fd(attached), lib.bpf_map__fd(control)
            if held != table:
                return os.dup(held)
            # Before libbpf 1.2 the values are written, and nothing is registered yet.
            link: int = lib.bpf_link_create(table, 0, _STRUCT_OPS, None)
            _checked(link >= 0)
            return link
        finally:
            lib.bpf_link__destroy(attached)
    finally:
        lib.bpf_object__close(opened)


def _checked(result: Any) -> Any:
    if not result:
        number = ctypes.get_errno()
        said = os.strerror(number) if number < _OWN_ERRORS else "libbpf can't read the file"
        raise OSError(number, said)
    return result


def _library() -> ctypes.CDLL:
    """libbpf, whose functions leave their errors in errno."""
    lib = ctypes.CDLL(kernel.LIBBPF, use_errno=True)
    pointer, number = ctypes.c_void_p, ctypes.c_int
    for function, result, arguments in (
        ("bpf_object__open_mem", pointer, [ctypes.c_char_p, ctypes.c_size_t, pointer]),
        ("bpf_object__find_map_by_name", pointer, [pointer, ctypes.c_char_p]),
        ("bpf_object__load", number, [pointer]),
        ("bpf_object__close", None, [pointer]),
        ("bpf_map__set_initial_value", number, [pointer, pointer, ctypes.c_size_t]),
        ("bpf_map__set_map_flags", number, [pointer, ctypes.c_uint32]),
        ("bpf_map__attach_struct_ops", pointer, [pointer]),
        ("bpf_map__fd", number, [pointer]),
        ("bpf_link__fd", number, [pointer]),
        ("bpf_link__destroy", number, [pointer]),
        ("bpf_link_create", number, [number, number, number, pointer]),
    ):
        called = getattr(lib, function)
        called.restype, called.argtypes = result, arguments
    # It would print what goes wrong.
    lib.libbpf_set_print(None)
    return lib
