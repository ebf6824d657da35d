"""study.yaml as people write it.

What has to fit together (selections, published rows, calibrated values) is checked by `incast.study.load`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from incast.folder import TABLES
from incast.hints import unknown
from incast.lab.base import Model, Name, Selector
from incast.study.axes import Axes

Fields = dict[str, Any]
"""Fields of a scenario; a key may be a dotted path."""
Show = Literal["queue", "latency", "drops", "out_discards", "in_discards", "marks", "pause", "sleeps"]
SHOWN_OF_SERVERS: tuple[Show, ...] = ("queue", "drops", "sleeps")
"""What a picture can show of walk servers."""
Names = Annotated[list[str], Field(min_length=1)]
SeedCount = Annotated[int, Field(ge=1, le=10_000)]


class Value(Model):
    """One value of an axis: what is different in the cells that have it."""

    about: str = ""
    """What it represents."""
    set: Fields = {}
    """Fields that override the base; a key may be a dotted path, as in `choices`."""
    published: dict[str, str | int | float] = {}
    """Columns of the published table, and their content in this value's rows."""


class TableFigure(Model):
    """A figure computed from a table of the run folder."""

    table: str
    """The table, like `ports`."""
    column: str
    """Its column, like `out_discards`."""
    where: dict[str, Selector] = {}
    """Only rows whose text columns match one of these: a name, a pattern with `*`, or a list of them."""
    of: Literal["sum", "max", "min", "mean", "count"] = "sum"
    """How rows become one number; `count` counts the rows in which the column is not zero."""
    per: str = ""
    """A column of the same rows: the figure is divided by its sum, and is a plain number."""
    since: str = ""
    """A column of the same rows: its minimum is subtracted from the figure, as a start from an end."""

    @field_validator("table")
    @classmethod
    def _known(cls, table: str) -> str:
        if table not in TABLES:
            raise ValueError(unknown("a table", table, TABLES))
        return table


class Published(Model):
    """The published table, with one row per cell."""

    file: str = "published.csv"
    """CSV with a header, next to study.yaml; lines that begin with # are comments."""
    column: str
    """The column that holds the figure."""
    unit: str = ""
    """The figure's unit, like s; empty for a plain number."""
    metric: str
    """Our corresponding figure, one of `metrics`."""
    source: str = ""
    """Its source."""


class Parameter(Model):
    """A value that the calibration finds."""

    field: str
    """The field's dotted path."""
    start: str | int | float
    """Start of the search; also used before calibration."""
    low: str | int | float
    """Lowest value allowed."""
    high: str | int | float
    """Highest value allowed."""
    cells: str = ""
    """The cells in which the field is set; without a value, all."""
    about: str = ""
    """What it represents."""


class Calibration(Model):
    """Which parameters are fitted on which cells."""

    cells: Annotated[list[str], Field(min_length=1)]
    """Selections of the cells whose published figures the parameters are fitted to."""
    parameters: Annotated[list[Parameter], Field(min_length=1)]
    """What is fitted: at most as many as there are cells."""
    seeds: SeedCount = 1
    """Seeds of each cell in each evaluation."""
    evaluations: Annotated[int, Field(ge=1, le=10_000)] = 60
    """Maximum number of sets of values that are tried."""
    file: str = "calibrated.yaml"
    """File for the values found, next to study.yaml."""


class Bars(Model):
    """A chart of bars: published figures next to ours."""

    id: Name
    """Unique among bars and pictures; the name of the chart's file."""
    place: str
    """Its place in the document."""
    text: str = ""
    """Its question, used as the title."""
    cells: Annotated[list[str], Field(min_length=1)]
    """Selections of the cells that have bars; a cell without a published figure has only ours."""
    metric: Name | None = None
    """The figure, one of `metrics`; without a value, that of the published figures."""
    panels: list[Name] = []
    """Axes: each combination of their values has its own panel."""
    claims: list[str] = []
    """Ids of the claims that it supports: they are shown next to it with their verdicts."""


class Picture(Model):
    """Ports or walk servers over time, cells side by side on shared scales; of the first seed's samples."""

    id: Name
    """Unique among bars and pictures; the name of the picture's file."""
    place: str
    """Its place in the document."""
    text: str = ""
    """Its question, used as the title."""
    cells: Annotated[list[str], Field(min_length=1)]
    """Selections of the cells that are compared: at most six."""
    ports: Names | None = None
    """Ports that are drawn together, as in `measure.ports`, which must sample them."""
    servers: Names | None = None
    """Instead of ports: hosts that serve random walks."""
    show: Annotated[list[Show], Field(min_length=1)]
    """What is drawn, in this order."""
    claims: list[str] = []
    """Ids of the claims that it supports: they are shown next to it with their verdicts."""

    @property
    def of(self) -> list[str]:
        """The names or patterns of what is drawn."""
        return self.servers or self.ports or []

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        if bool(self.ports) == bool(self.servers):
            raise ValueError("either ports or servers: what is it a picture of?")
        wrong = [
            each for each in self.show if (each not in SHOWN_OF_SERVERS if self.servers else each == "sleeps")
        ]
        if wrong:
            of = "servers" if self.servers else "ports"
            raise ValueError(f"{wrong[0]!r} is not known of {of}")
        return self


class Image(Model):
    """A picture that no cell leaves: an SVG file of the study, shown as it is."""

    file: Annotated[str, Field(pattern=r"^[\w.-]+\.svg$")]
    """The file, next to study.yaml."""
    place: str
    """The place in the document of what it shows."""
    text: str = ""
    """What it shows, its title."""
    note: str = ""
    """How to read it."""
    command: str = ""
    """The command that draws it again."""


class StudyFile(Model):
    """A study: what study.yaml says."""

    name: Name
    """Shown in results; the default name of the result folder."""
    description: str = ""
    """What the study is about."""
    base: str | Fields
    """The scenario that axes change: a file next to study.yaml, or its fields. With the field `plan` it is
    a broadcast that is planned, not simulated."""
    axes: Annotated[dict[Name, dict[Name, Value]], Field(min_length=1)]
    """What varies: axis → value → what is different. Names of values are unique in the study."""
    cells: list[str] = []
    """Selections of the combinations that are part of the study; without a value, all of them."""
    seeds: SeedCount = 10
    """Seeds of each cell: 1, 2, …"""
    metrics: Annotated[dict[Name, str | TableFigure], Field(min_length=1)]
    """The figures of a run, by name: a figure of its summary, like `ports.drops`, or one of a table."""
    published: Published | None = None
    """What was published."""
    calibration: Calibration | None = None
    """What is fitted to published figures."""
    bars: list[Bars] = []
    """Charts of the page with published figures next to ours."""
    pictures: list[Picture] = []
    """Pictures of the page: ports or walk servers over time."""
    images: list[Image] = []
    """Pictures of the page from files of the study."""


def axes_of(model: StudyFile) -> Axes:
    """The values of each axis."""
    return {axis: list(values) for axis, values in model.axes.items()}
