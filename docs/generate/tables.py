"""Tables and their columns, from the rows that the core writes; figures, from the package's list of them."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import fill

from page import code, rows

from incast import metrics

_ROWS = Path(__file__).resolve().parents[2] / "crates" / "record" / "src" / "rows"
_TABLE = re.compile(
    r'table! \{\n(?P<doc>(?: +///[^\n]*\n)+) +"(?P<name>\w+)": \w+, \w+ \{\n(?P<body>.*?)\n    \}', re.DOTALL
)
_FIELD = re.compile(r"(?P<doc>(?: +///.*\n)+) +(?P<name>\w+): (?P<type>[\w<>]+),")
_LABEL = re.compile(r"labels! \{\n(?: +///[^\n]*\n)+ +(\w+) \{(.*?)\n    \}", re.DOTALL)
_WORDS = re.compile(r'\w+ = "([\w-]+)",')
_TYPES = {"U64": "UInt64", "U8": "UInt8", "F64": "Float64", "Text": "text"}


def _source() -> str:
    return "\n".join(file.read_text("utf-8") for file in sorted(_ROWS.glob("*.rs")))


def columns() -> dict[str, list[tuple[str, str, str, bool]]]:
    """Name, type, description and whether a cell may be missing, of each column of each table."""
    source = _source()
    labels = {name: _WORDS.findall(body) for name, body in _LABEL.findall(source)}
    return {
        found["name"]: [_column(field, labels) for field in _FIELD.finditer(found["body"] + "\n")]
        for found in _TABLE.finditer(source)
    }


def _column(field: re.Match[str], labels: dict[str, list[str]]) -> tuple[str, str, str, bool]:
    nullable = field["type"].startswith("Nullable<")
    kind = field["type"].removeprefix("Nullable<").removesuffix(">" if nullable else "")
    if kind.startswith("Labels<"):
        shown = ", ".join(code(word) for word in labels[kind[7:-1]])
    else:
        shown = _TYPES[kind]
    return field["name"].removesuffix("_"), shown, _doc(field["doc"]), nullable


def _doc(text: str) -> str:
    return " ".join(line.strip().removeprefix("///").strip() for line in text.splitlines())


def table(name: str) -> str:
    """What a table holds, and its columns."""
    found = next(each for each in _TABLE.finditer(_source()) if each["name"] == name)
    body = [
        (code(column), about, kind + (" or missing" if nullable else ""))
        for column, kind, about, nullable in columns()[name]
    ]
    return f"{fill(_doc(found['doc']), 110)}\n\n" + rows(("column", "what it is", "type"), body)


def figures(section: str) -> str:
    """The figures of a section of the summary."""
    listed = metrics.SECTIONS[section]
    better = {-1: "less", 0: "neither", 1: "more"}
    body = [(code(m.name), code(m.key), m.label, m.expected, better[m.better]) for m in listed]
    return rows(("in thresholds", "in `summary.json`", "in tables", "value", "better"), body)
