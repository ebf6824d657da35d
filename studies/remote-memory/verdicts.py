"""Whether the slides' findings hold, from the grid: a verdict for each, and the figures behind it.

Run as a script, it prints them of the grid that is kept (`ours.csv`), for `incast reproduce`.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import polars as pl
from programs import ALGORITHMS, HERE, LIBRARIES, MODELS

from incast.farmem.indicators import Indicator, correlate

Verdict = tuple[bool, str]
OURS = HERE / "ours.csv"
_AT = {"local": "200 MB", "latency_us": 10, "bandwidth_gbps": 40}


def judged(grid: pl.DataFrame) -> dict[str, Verdict]:
    """By the claim's id."""
    tests: dict[str, Callable[[pl.DataFrame], Verdict]] = {
        "S9.1": _differ,
        "S9.2": _latency,
        "S9.3": _bandwidth,
        "S10.1": _larger,
        "S10.2": _small,
        "S11.1": lambda rows: _positive(rows, "layers"),
        "S11.2": lambda rows: _positive(rows, "size"),
        "S11.3": _size_tells,
    }
    return {claim: test(grid) for claim, test in tests.items()}


def at(grid: pl.DataFrame, program: str, **where: object) -> float:
    """A cell's degradation in percent."""
    rows = grid.filter(program=program, **{**_AT, **where})
    return float(rows["degradation_percent"].item())


def correlations(
    grid: pl.DataFrame, library: str, local: str = "200 MB", without: str = ""
) -> dict[str, Indicator]:
    """Of layers and size with what the library's networks lose."""
    models = {name: of for name, of in MODELS.items() if name != without}
    slower = [at(grid, f"{library}-{model}", local=local) for model in models]
    figures = {
        "layers": [float(each.layers) for each in models.values()],
        "size": [float(each.size_mb) for each in models.values()],
    }
    return {each.name: each for each in correlate(slower, figures)}


def _networks(grid: pl.DataFrame) -> list[str]:
    """Those that fetch anything at 200 MB."""
    names = [f"{library}-{model}" for library in LIBRARIES for model in MODELS]
    return [name for name in names if at(grid, name) > 0]


def _differ(grid: pl.DataFrame) -> Verdict:
    found = [at(grid, name) for name in _networks(grid)]
    return max(found) >= 10 * min(found), f"{min(found):.2g} to {max(found):.3g} %"


def _latency(grid: pl.DataFrame) -> Verdict:
    pairs = [
        (
            at(grid, name, latency_us=20) - at(grid, name, latency_us=1),
            at(grid, name, bandwidth_gbps=10) - at(grid, name, bandwidth_gbps=100),
        )
        for name in _networks(grid)
    ]
    ratios = [latency / bandwidth for latency, bandwidth in pairs]
    return min(ratios) > 1, f"{min(ratios):.1f} times as much"


def _bandwidth(grid: pl.DataFrame) -> Verdict:
    parts = [1 - at(grid, name, bandwidth_gbps=100) / at(grid, name) for name in _networks(grid)]
    return max(parts) < 0.1, f"at most {max(parts):.1%} less"


def _larger(grid: pl.DataFrame) -> Verdict:
    pairs = [(at(grid, f"{each}-2048-1"), at(grid, f"{each}-4096-1")) for each in ALGORITHMS]
    return all(small < large for small, large in pairs), ", ".join(f"{a:.3g} → {b:.3g} %" for a, b in pairs)


def _small(grid: pl.DataFrame) -> Verdict:
    found = max(at(grid, f"{each}-2048-{times}", latency_us=20) for each in ALGORITHMS for times in (1, 3))
    return found < 1, f"at most {found:.2g} %"


def _positive(grid: pl.DataFrame, figure: str) -> Verdict:
    found = {library: correlations(grid, library)[figure].pearson for library in LIBRARIES}
    said = ", ".join(f"{name} {value:+.2f}" for name, value in found.items() if value is not None)
    return all(value is not None and value > 0 for value in found.values()), said


def _size_tells(grid: pl.DataFrame) -> Verdict:
    found = correlations(grid, "litert")
    size, layers = found["size"].pearson or 0.0, found["layers"].pearson or 0.0
    return size > layers, f"{size:+.2f} and {layers:+.2f}"


if __name__ == "__main__":
    verdicts = judged(pl.read_csv(OURS))
    print(json.dumps({claim: {"holds": holds, "figures": said} for claim, (holds, said) in verdicts.items()}))
