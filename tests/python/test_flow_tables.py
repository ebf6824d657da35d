"""CSV files are read many rows at a time: every row, and the line in which it begins, is as if read alone."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.kinds import flow_tables
from incast.kinds.flow_tables import TableError, open_table

PIECES = st.lists(
    st.sampled_from(["a", "b", ",", ",", '"', '""', "\n", "\n", "\r\n", "\r", " "]), max_size=40
)
HEADER = "x,y,z\n"


def one_by_one(file: Path) -> tuple[list[tuple[int, list[str]]], tuple[str, int] | None]:
    """The rows below the header with their lines, and what ends them too early, in which line."""
    found: list[tuple[int, list[str]]] = []
    with file.open(encoding="utf-8", newline="") as opened:
        reader = csv.reader(opened, strict=True)
        next(reader)
        line = reader.line_num + 1
        try:
            for row in reader:
                if len(row) > 3:
                    return found, ("more columns than in line 1", line)
                if len(row) == 3 or any(map(str.strip, row)):
                    found.append((line, row + [""] * (3 - len(row))))
                line = reader.line_num + 1
        except csv.Error as error:
            said = (
                "a quote is opened and never closed" if str(error) == "unexpected end of data" else str(error)
            )
            return found, (said, line)
    return found, None


@given(PIECES, st.integers(1, 4))
def test_rows_are_those_of_reading_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], most: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.csv"
    file.write_text(HEADER + "".join(pieces), newline="")
    rows, wrong = one_by_one(file)
    found: list[tuple[int, list[str]]] = []
    said = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow_tables, "ROWS_AT_A_TIME", most)
        try:
            for part in open_table(file).parts(["x", "y", "z"]):
                cells = [[str(cell) for cell in row] for row in zip(*part.columns, strict=True)]
                found += zip(part.lines, cells, strict=True)
        except TableError as error:
            said = (str(error), error.line)
    assert found == rows
    assert said == wrong
