"""Axes span cells; selections choose among them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.study.axes import Axes, Cell, ambiguous, expand, select

AXES = {"buffer": ["deep", "shallow"], "framework": ["mapreduce", "tez"], "data": ["10GB", "200GB"]}


@st.composite
def spans(draw: st.DrawFn) -> dict[str, list[str]]:
    """Axes whose values all differ."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    return {f"axis{a}": [f"v{a}.{v}" for v in range(size)] for a, size in enumerate(sizes)}


@st.composite
def selections(draw: st.DrawFn, axes: Axes) -> str:
    parts = [draw(st.lists(st.sampled_from(list(v)), unique=True)) for v in axes.values()]
    return "/".join(draw(st.permutations(["|".join(part) for part in parts if part])))


@given(spans())
def test_all_cells_each_once(axes: dict[str, list[str]]) -> None:
    cells = expand(axes)
    product = 1
    for values in axes.values():
        product *= len(values)
    assert len(cells) == len(set(cells)) == len({cell.name for cell in cells}) == product
    assert all(value in axes[axis] for cell in cells for axis, value in zip(axes, cell.values, strict=True))


@given(st.data())
def test_a_selection_is_what_its_words_say(data: st.DataObject) -> None:
    axes = data.draw(spans())
    text = data.draw(selections(axes))
    groups = [set(part.split("|")) for part in text.split("/") if part]
    chosen = set(expand(axes, [select(text, axes)]))
    for cell in expand(axes):
        assert (cell in chosen) == all(group & set(cell.values) for group in groups)


@given(st.data())
def test_several_selections_are_a_union_in_the_studys_order(data: st.DataObject) -> None:
    axes = data.draw(spans())
    texts = data.draw(st.lists(selections(axes), min_size=1, max_size=3))
    found = expand(axes, [select(text, axes) for text in texts])
    union = {cell for text in texts for cell in expand(axes, [select(text, axes)])}
    assert found == [cell for cell in expand(axes) if cell in union]


def test_the_last_axis_changes_fastest() -> None:
    names = [cell.name for cell in expand(AXES)]
    assert names[:3] == ["deep/mapreduce/10GB", "deep/mapreduce/200GB", "deep/tez/10GB"]


def test_values_of_a_selection() -> None:
    assert Cell(("deep", "tez", "10GB")) in select("10GB/deep|shallow", AXES)
    assert select("10GB/deep", AXES).single() == {2: "10GB", 0: "deep"}
    assert select("deep|shallow", AXES).single() is None
    assert select("", AXES).single() == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dep", "'dep' is not a value of an axis. Did you mean 'deep'?"),
        ("deep|tez", "mixes values of different axes"),
        ("deep/shallow", "names axis buffer twice"),
        ("deep|", "'' is not a value"),
    ],
)
def test_bad_selections(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        select(text, AXES)


def test_values_of_two_axes() -> None:
    assert ambiguous({"a": ["x", "y"], "b": ["y"]}) == ["y"]
