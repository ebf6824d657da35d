"""Whatever is in a file of edges or of owners: it is refused with its place, or read; nothing else happens."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incast.errors import ScenarioError
from incast.walks.graph import Graph
from incast.walks.partition import read as read_owners
from incast.walks.read import read

WORDS = st.sampled_from(
    ["0", "1", "7", "-1", "x", "1.5", "", "nan", "1e400", "#", "9" * 19, "9" * 30, '"', "٣"]
)
LINES = st.lists(st.lists(WORDS, max_size=4).map(" ".join) | st.lists(WORDS, max_size=4).map(",".join))
TEXT = LINES.map("\n".join) | LINES.map("\r\n".join) | st.text(max_size=60)
CONTENT = TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=80)


def _read(file: Path, weighted: bool, directed: bool) -> Graph | None:
    try:
        found = read(file, weighted=weighted, directed=directed, seed=1)
    except ScenarioError as error:
        for each in error.problems:
            assert each.message
            assert each.file or each.path
        return None
    assert found.core.nodes() > 0
    return found


@given(content=CONTENT, name=st.sampled_from(["g.txt", "g.csv", "g.parquet", "g.npz"]), weighted=st.booleans(),
       directed=st.booleans(), head=st.booleans(), packed=st.booleans())  # fmt: skip
def test_any_file_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory,
    content: bytes,
    name: str,
    weighted: bool,
    directed: bool,
    head: bool,
    packed: bool,
) -> None:
    file = tmp_path_factory.mktemp("any") / name
    content = b"source,target,weight\n" + content if head and name == "g.csv" else content
    if packed and name in ("g.txt", "g.csv"):
        file = file.with_name(f"{name}.gz")
        content = gzip.compress(content)
    file.write_bytes(content)
    _read(file, weighted, directed)


@given(data=st.data(), weighted=st.booleans(), directed=st.booleans())
def test_any_compressed_rows_are_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, weighted: bool, directed: bool
) -> None:
    numbers = st.lists(st.integers(-2, 5), max_size=6)
    arrays: dict[str, Any] = {
        "indices": np.array(data.draw(numbers), data.draw(st.sampled_from(["i4", "i8", "f8"]))),
        "indptr": np.array(data.draw(numbers), data.draw(st.sampled_from(["i4", "i8"]))),
        "data": np.array(data.draw(st.lists(st.floats(width=32), max_size=6)), "f4"),
        "shape": np.array(data.draw(st.sampled_from([(2, 2), (3, 3), (0, 0), (-1, -1), (2, 3), (1 << 40, 1 << 40)]))),
        "format": np.array(data.draw(st.sampled_from([b"csr", b"csc", b"coo", b"none"]))),
    }  # fmt: skip
    left_out = data.draw(st.sampled_from(["", *arrays]))
    arrays.pop(left_out, None)
    file = tmp_path_factory.mktemp("rows") / "g.npz"
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    content = bytearray(packed.getvalue())
    if data.draw(st.booleans()):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    file.write_bytes(content)
    _read(file, weighted, directed)


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    ("indices", "starts"), [([0, 1 << 30], [0, 1, 2]), ([-5, 1], [0, 1, 2]), ([0, 1], [0, 9, 2])]
)
def test_indices_outside_the_matrix_are_refused(
    tmp_path: Path, form: str, indices: list[int], starts: list[int]
) -> None:
    np.savez(
        tmp_path / "g.npz",
        indices=np.array(indices, "i4"),
        indptr=np.array(starts, "i4"),
        data=np.ones(2, "f4"),
        shape=np.array((2, 2)),
        format=np.array(form.encode()),
    )
    assert _read(tmp_path / "g.npz", weighted=False, directed=True) is None


@given(content=CONTENT, nodes=st.integers(1, 4), servers=st.integers(1, 3))
def test_any_owners_are_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, nodes: int, servers: int
) -> None:
    file = tmp_path_factory.mktemp("owners") / "part"
    file.write_bytes(content)
    try:
        owners = read_owners(file, nodes, servers)
    except ScenarioError:
        return
    assert len(owners) == nodes
    assert owners.max() < servers


def test_a_table_of_anything_is_refused_or_read(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "whole": [0, 1],
        "negative": [-5, 1],
        "missing": [None, 1],
        "text": ["a", ""],
        "float": [0.5, float("nan")],
        "truth": [True, False],
        "list": [[1], [2]],
    }
    file = tmp_path / "g.parquet"
    for source in columns.values():
        for target in columns.values():
            pl.DataFrame({"source": source, "target": target, "weight": target}).write_parquet(file)
            for weighted in (False, True):
                _read(file, weighted, False)
    for column, said in (("float", "Float64"), ("truth", "Boolean"), ("list", "List")):
        pl.DataFrame({"source": [0, 1], "target": columns[column]}).write_parquet(file)
        with pytest.raises(ScenarioError, match=f"column 'target' is of type {said}.*: integers or text are"):
            read(file, weighted=False, directed=None, seed=1)
