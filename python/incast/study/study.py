"""A study as it was read: its cells, published figures, parameters and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from incast.document import Node
from incast.errors import Problem, ScenarioError
from incast.study.axes import Axes, Cell, select
from incast.study.claims import Claim
from incast.study.figures import Figure
from incast.study.model import StudyFile, axes_of
from incast.study.parameters import Fitted

FILE = "study.yaml"


@dataclass(frozen=True)
class Study:
    """A study, ready to be expanded."""

    folder: Path
    document: Node
    """study.yaml with the places of its values."""
    model: StudyFile
    base: Node
    """The base scenario."""
    cells: list[Cell]
    figures: dict[str, Figure]
    published: dict[str, float]
    """The published figure of each cell that has one, in base units."""
    parameters: list[Fitted]
    values: list[Node]
    """The parameters' values: calibrated, or where the search begins."""
    claims: list[Claim]

    @property
    def name(self) -> str:
        """Its name."""
        return self.model.name

    @cached_property
    def axes(self) -> Axes:
        """The values of each axis."""
        return axes_of(self.model)

    @property
    def judged_by(self) -> Figure | None:
        """The figure that the published ones answer to."""
        return self.figures[self.model.published.metric] if self.model.published else None

    def select(self, texts: Sequence[str], said_by: str) -> list[Cell]:
        """The study's cells in any of the selections; `said_by` names the option in messages."""
        try:
            chosen = [select(text, self.axes) for text in texts]
        except ValueError as error:
            raise ScenarioError([Problem(str(error), file=said_by)]) from None
        found = [cell for cell in self.cells if not chosen or any(cell in each for each in chosen)]
        if not found:
            raise ScenarioError([Problem("no cell of the study is selected", file=said_by)])
        return found

    @cached_property
    def fitted_cells(self) -> list[Cell]:
        """The cells that the calibration is fitted to."""
        calibration = self.model.calibration
        return [] if not calibration else self.select(calibration.cells, FILE)

    def with_values(self, values: Sequence[object]) -> Study:
        """The same with other values of the parameters."""
        return replace(self, values=[Node.of(value) for value in values])
