"""YAML: the values of version 1.2, lines, and what is refused before anything is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.document import Node, dotted, dump, read_file, read_text
from incast.document.yaml import FILE_BYTES_MAX
from incast.errors import Problem, ScenarioError


def problem(text: str) -> Problem:
    with pytest.raises(ScenarioError) as caught:
        read_text(text, "a.yaml").plain()
    (found,) = caught.value.problems
    return found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("off", "off"),
        ("no", "no"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("1e3", 1000.0),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("~", None),
        ("", None),
        (".5", 0.5),
        ("-7", -7),
        ("25Gbps", "25Gbps"),
    ],
)
def test_values_are_those_of_yaml_1_2(text: str, value: object) -> None:
    found = read_text(f"a: {text}").plain()
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64)
    | st.text(max_size=20)
    | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_what_is_written_reads_back(value: object) -> None:
    assert read_text(dump(value)).plain() == value


@pytest.mark.parametrize("text", ["\x85", "a\u2028", "\u2029b", "a\nb\r\n"])
def test_ends_of_lines_stay_in_the_text(text: str) -> None:
    assert read_text(dump({text: [text]})).plain() == {text: [text]}


@pytest.mark.parametrize("text", ["0E0", "1e3", "0o7", "0x1F", "true", "null", ".inf", "010", "on"])
def test_text_that_looks_like_something_else_stays_text(text: str) -> None:
    assert read_text(dump([text])).plain() == [text]


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_text(text, "a.yaml").plain()
    except ScenarioError as error:
        assert all(each.file == "a.yaml" for each in error.problems)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\nb: 2\na: 3", 3, "'a' is there twice, first in line 1"),
        ("place: *", 1, "put in quotes"),
        ("a: [1, 2", 2, "not YAML"),
        ("a: 1\n  b: 2", 2, "not YAML"),
        ("[1]: 2", 1, "a field's name is text"),
        ("[" * 100_000, 1, "nested more than"),
        ("a: &x [*x]", 1, "contains itself"),
        ("--- 1\n--- 2", 2, "not YAML"),
        ("a: \0", None, "not YAML"),
    ],
)
def test_refused_with_its_line(text: str, line: int | None, said: str) -> None:
    found = problem(text)
    assert said in found.message
    assert (found.file, found.line) == ("a.yaml", line)


def test_aliases_that_unfold_to_billions_are_refused() -> None:
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert "unfolds to more than" in problem("a0: &a0 [x]\n" + "\n".join(rows)).message


def test_files_that_are_missing_binary_or_too_large(tmp_path: Path) -> None:
    binary, large = tmp_path / "binary.yaml", tmp_path / "large.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    with large.open("wb") as file:
        file.truncate(FILE_BYTES_MAX + 1)
    for path, said in [(tmp_path / "none", "can't read"), (binary, "not UTF-8"), (large, "too large")]:
        with pytest.raises(ScenarioError, match=said):
            read_file(path)


def test_places_are_found_or_the_nearest_around_them() -> None:
    node = read_text("a:\n  - b: 1\n    c:\n      d: 2\n", "f")
    assert node.locate(("a", 0, "c", "d")).line == 4
    assert node.locate(("a", 0, "c", "missing")).line == 3
    assert node.locate(("missing",)).line == 1
    assert dotted(("a", 0, "c")) == "a[0].c"


def test_only_plain_data_becomes_a_node() -> None:
    with pytest.raises(TypeError):
        Node.of(object())
