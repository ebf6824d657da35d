"""Values that a calibration finds: their numbers, their text, and the file that freezes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from incast.document import Mark, Node, dump, read_file
from incast.errors import Problem, ScenarioError
from incast.folder import write_text
from incast.quantity import format_bytes, format_rate, format_time, parse_bytes, parse_rate, parse_time
from incast.study.model import Calibration, Parameter

_KINDS: tuple[tuple[Callable[[str], int], Callable[[int], str]], ...] = (
    (parse_time, format_time),
    (parse_rate, format_rate),
    (parse_bytes, format_bytes),
)
_DIGITS = 4


@dataclass(frozen=True)
class Fitted:
    """A parameter and what is known of it, in base units."""

    parameter: Parameter
    start: float
    low: float
    high: float
    format: Callable[[int], str] | None
    """From base units to text; nothing for a plain number."""

    def value(self, number: float) -> str | int | float:
        """The number as a field takes it, with four digits: what is frozen is what was tried."""
        number = min(max(number, self.low), self.high)
        rounded = float(f"{number:.{_DIGITS}g}")
        if self.format:
            return self.format(round(rounded))
        whole = all(isinstance(end, int) for end in (self.parameter.start, self.parameter.low))
        return round(rounded) if whole else rounded


def fitted(parameter: Parameter) -> Fitted:
    """The parameter in base units; `ValueError` says what is wrong."""
    texts = (parameter.start, parameter.low, parameter.high)
    if all(isinstance(each, int | float) for each in texts):
        start, low, high = (float(each) for each in texts)
        form = None
    else:
        start, low, high, form = _quantities([str(each) for each in texts])
    if not low <= start <= high or low == high:
        raise ValueError(
            f"start is {texts[0]}, low {texts[1]}, high {texts[2]}: "
            "expected low ≤ start ≤ high, and low below high"
        )
    return Fitted(parameter, start, low, high, form)


def _quantities(texts: Sequence[str]) -> tuple[float, float, float, Callable[[int], str]]:
    for parse, form in _KINDS:
        try:
            start, low, high = (float(parse(text)) for text in texts)
        except ValueError:
            continue
        return start, low, high, form
    raise ValueError(f"{', '.join(texts)}: expected three times, three rates, three sizes or three numbers")


def starts(file: Path, calibration: Calibration) -> list[Node]:
    """The value of each parameter that a calibration begins with; the file is where it will be frozen."""
    return [Node.of(each.start, Mark(str(file))) for each in calibration.parameters]


def read(file: Path, calibration: Calibration) -> list[Node]:
    """The frozen value of each parameter; its start where nothing was calibrated yet."""
    if not file.exists():
        return starts(file, calibration)
    document = read_file(file)
    listed = document.child("parameters")
    entries = listed.value if listed and isinstance(listed.value, list) else []
    found = []
    for number, parameter in enumerate(calibration.parameters):
        entry = entries[number] if number < len(entries) else None
        names = [entry.child(key) for key in ("field", "cells")] if entry else []
        said = [name.value if name else "" for name in names]
        value = entry.child("value") if entry else None
        if said != [parameter.field, parameter.cells] or value is None:
            message = f"does not hold {parameter.field} at position {number}: calibrate the study again"
            raise ScenarioError([Problem(message, "parameters", str(file))])
        found.append(value)
    if len(entries) > len(found):
        message = f"holds {len(entries)} parameters, the study has {len(found)}: calibrate the study again"
        raise ScenarioError([Problem(message, "parameters", str(file))])
    return found


def write(
    file: Path, calibration: Calibration, values: Sequence[object], residuals: Sequence[dict[str, object]]
) -> None:
    """Freezes the values, with how far each row is from what was published."""
    parameters = [
        {"field": each.field, **({"cells": each.cells} if each.cells else {}), "value": value}
        for each, value in zip(calibration.parameters, values, strict=True)
    ]
    content = {"parameters": parameters, "residuals": list(residuals)}
    note = "# Written by `incast calibrate`; the study reads the parameters, people the residuals.\n"
    write_text(file, note + dump(content, width=110))
