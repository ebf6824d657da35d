"""Numbers as people read them: three significant digits and a unit. No HTML."""

import re
from collections.abc import Callable
from typing import Any

_TIMES = ((1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1e3, "ns"), (1.0, "ps"))
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_RATES = ((1e12, "Tb/s"), (1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s"))

NONE = "–"
_NUMBER = re.compile(r"(\d+)")


def _scaled(value: float, units: tuple[tuple[float, str], ...]) -> str:
    if value == 0:
        return f"0 {units[-1][1] if units is not _TIMES else 's'}"
    scale, unit = next((u for u in units if abs(value) >= u[0] * 0.9995), units[-1])
    return f"{digits(value / scale)} {unit}"


def digits(value: float) -> str:
    """Three significant digits, no exponent below a million."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.{1 if size >= 10 else 2}f}".rstrip("0").rstrip(".") if size >= 0.01 else f"{value:.1g}"


def time(ps: float | None) -> str:
    """A time given in picoseconds."""
    return NONE if ps is None else _scaled(ps, _TIMES)


def size(count: float | None) -> str:
    """A number of bytes."""
    return NONE if count is None else _scaled(count, _SIZES)


def rate(bps: float | None) -> str:
    """Bits per second."""
    return NONE if bps is None else _scaled(bps, _RATES)


def count(value: float | None) -> str:
    """A whole number, digits grouped."""
    return NONE if value is None else f"{value:,.0f}".replace(",", "\u202f")


def percent(part: float | None) -> str:
    """A part of one."""
    if part is None:
        return NONE
    value = part * 100
    if 0 < value < 0.01:
        return "< 0.01 %"
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{digits(value)} %"


def plural(number: float, one: str, many: str | None = None) -> str:
    """`1 drop`, `2 drops`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else ""


def natural_key(name: str) -> list[Any]:
    """Sorts `host2` before `host10`: text and numbers by turns."""
    parts: list[Any] = _NUMBER.split(name)
    parts[1::2] = map(int, parts[1::2])
    return parts


def time_unit(ps_max: float) -> tuple[float, str]:
    """The unit for an axis that reaches `ps_max`: (picoseconds in it, its name)."""
    return next((u for u in _TIMES if ps_max >= u[0]), _TIMES[-1])


def size_unit(bytes_max: float) -> tuple[float, str]:
    """The unit for an axis that reaches `bytes_max`: (bytes in it, its name)."""
    return next((u for u in _SIZES if bytes_max >= u[0]), _SIZES[-1])


def rate_unit(bps_max: float) -> tuple[float, str]:
    """The unit for an axis that reaches `bps_max`: (bits a second in it, its name)."""
    return next((u for u in _RATES if bps_max >= u[0]), _RATES[-1])


def packets_unit(top: float) -> tuple[float, str]:
    """The unit for an axis that reaches `top` packets a second: (packets a second in it, its name)."""
    units = ((1e9, "packets/ns"), (1e6, "packets/µs"), (1e3, "packets/ms"))
    return next((u for u in units if top >= u[0]), (1.0, "packets/s"))


def span(low: float, high: float, say: Callable[[float], str]) -> str:
    """`1 ms to 2 ms`; nothing where both ends read the same."""
    ends = (say(low), say(high))
    return f"{ends[0]} to {ends[1]}" if ends[0] != ends[1] else ""
