"""Laying one document over another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.document import Node, assign, merge
from incast.errors import ScenarioError


def merged(base: Any, over: Any) -> object:
    return merge(Node.of(base), Node.of(over)).plain()


def test_mappings_merge_and_the_rest_replaces() -> None:
    assert merged({"a": {"b": 1, "c": [1, 2]}, "d": 4}, {"a": {"c": [3]}}) == {
        "a": {"b": 1, "c": [3]},
        "d": 4,
    }


def test_another_kind_replaces_the_whole() -> None:
    base = {"kind": "shared", "alpha": 8}
    assert merged(base, {"kind": "static", "limit": "1MB"}) == {"kind": "static", "limit": "1MB"}
    assert merged(base, {"kind": "shared", "size": "1MB"}) == {"kind": "shared", "alpha": 8, "size": "1MB"}
    assert merged(base, {"alpha": 1}) == {"kind": "shared", "alpha": 1}


def test_a_mapping_over_a_list_changes_entries_by_name_or_position() -> None:
    base = [{"name": "a", "x": 1}, {"name": "b", "x": 2}, {"y": 3}]
    assert merged(base, {"b": {"x": 9}, "0": {"x": 7}, "2": {"y": 5}}) == [
        {"name": "a", "x": 7},
        {"name": "b", "x": 9},
        {"y": 5},
    ]
    with pytest.raises(ScenarioError, match=r"'c' is not an entry of this list.*Allowed: a, b, 2"):
        merged(base, {"c": {}})


def test_assign_makes_what_is_missing() -> None:
    assert assign(Node.of({}), "a.b.c", Node.of(1)).plain() == {"a": {"b": {"c": 1}}}


VALUES = st.recursive(
    st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.sampled_from(["a", "b", "kind", "c"]), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES, VALUES)
def test_laying_over_twice_is_laying_over_once(base: object, over: object) -> None:
    once = merge(Node.of(base), Node.of(over))
    assert merge(once, Node.of(over)).plain() == once.plain()


@given(VALUES)
def test_an_empty_mapping_changes_no_mapping(base: object) -> None:
    if isinstance(base, dict):
        assert merged(base, {}) == base
