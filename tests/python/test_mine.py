"""`incast.mine` against independent miners: pyfim and mlxtend."""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import fim
import mlxtend.frequent_patterns as peer
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incast
from helpers import warned
from incast.mining import mlxtend as ours
from incast.mining import output, tables
from incast.mining.passes import KEPT_PASSES
from incast.mining.quest import generate, like
from incast.mining.request import share
from incast.mining.result import METRICS

Found = dict[frozenset[Any], int]


def flat(result: incast.MineResult) -> Found:
    return {frozenset(items): count for _, items, count in result.itemsets.iter_rows()}


def by_pyfim(
    transactions: list[list[int]], minimum: int, algorithm: str = "eclat", target: str = "s"
) -> Found:
    found = getattr(fim, algorithm)(transactions, target=target, supp=-minimum, report="a")
    return {frozenset(items): count for items, count in found}


def lists(file: Path) -> list[list[int]]:
    return [[int(item) for item in line.split()] for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Quest's data, like T10I4D100K."""
    file = tmp_path_factory.mktemp("quest") / "t10i4d10k.dat"
    generate(like("t10i4d100k", transactions=10_000), file)
    return file


@pytest.fixture(scope="module")
def dense() -> pd.DataFrame:
    """Public data: which pixels of handwritten digits are dark (UCI, 1,797 rows of 64)."""
    from sklearn.datasets import load_digits

    return pd.DataFrame(load_digits().data >= 8).rename(columns=str)


@pytest.mark.parametrize("support", [0.005, 0.01, 0.05])
@pytest.mark.parametrize("algorithm", ["apriori", "eclat", "fpgrowth"])
def test_itemsets_of_sparse_data_are_those_of_pyfim(sparse: Path, support: float, algorithm: str) -> None:
    result = incast.mine(sparse, support)
    assert flat(result) == by_pyfim(lists(sparse), result.minimum, algorithm)


@pytest.mark.parametrize("support", [0.35, 0.5, 0.7])
def test_itemsets_of_dense_data_are_those_of_pyfim(dense: pd.DataFrame, support: float) -> None:
    transactions = [[int(item) for item in np.flatnonzero(row)] for row in dense.to_numpy()]
    result = incast.mine(transactions, support)
    assert flat(result) == by_pyfim(transactions, result.minimum)
    assert max(map(len, flat(result))) >= 3


def test_closed_and_maximal_itemsets_are_those_of_pyfim(dense: pd.DataFrame) -> None:
    transactions = [[int(item) for item in np.flatnonzero(row)] for row in dense.to_numpy()]
    result = incast.mine(transactions, 0.4)
    for frame, target in ((result.closed(), "c"), (result.maximal(), "m")):
        found = {frozenset(items): count for _, items, count in frame.iter_rows()}
        assert found == by_pyfim(transactions, result.minimum, target=target)
    assert flat(incast.mine(transactions, 0.4, kind="maximal")) == by_pyfim(
        transactions, result.minimum, target="m"
    )


@given(
    transactions=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=7), min_size=1, max_size=60),
    minimum=st.integers(1, 20),
    memory=st.sampled_from([1, 100, 1 << 20]),
    threads=st.integers(1, 3),
)
def test_any_transactions(transactions: list[list[int]], minimum: int, memory: int, threads: int) -> None:
    transactions = [*transactions, [10]]  # pyfim leaves out some itemsets that are in all transactions
    minimum = min(minimum, len(transactions))
    wanted = by_pyfim(transactions, minimum)
    result = incast.mine(transactions, minimum / len(transactions), memory=memory, threads=threads)
    assert result.minimum == minimum
    assert flat(result) == wanted


def sorted_rules(frame: pd.DataFrame) -> pd.DataFrame:
    key = [(sorted(a), sorted(c)) for a, c in zip(frame["antecedents"], frame["consequents"], strict=True)]
    order = sorted(range(len(key)), key=key.__getitem__)
    return frame.iloc[order].reset_index(drop=True)


@pytest.mark.parametrize(("metric", "threshold"), [("confidence", 0.9), ("lift", 1.5), ("leverage", 0.12)])
def test_rules_are_those_of_mlxtend(dense: pd.DataFrame, metric: str, threshold: float) -> None:
    itemsets = peer.fpgrowth(dense, min_support=0.45, use_colnames=True)
    wanted = sorted_rules(peer.association_rules(itemsets, metric=metric, min_threshold=threshold))
    result = incast.mine(dense, 0.45)
    found = sorted_rules(result.association_rules(metric, threshold))
    assert list(found.columns) == list(wanted.columns)
    assert list(found["antecedents"]) == list(wanted["antecedents"])
    assert list(found["consequents"]) == list(wanted["consequents"])
    for name in METRICS:
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9, atol=1e-12, err_msg=name)
    assert len(wanted)


def test_polars_rules_have_mlxtends_columns(dense: pd.DataFrame) -> None:
    rules = incast.mine(dense, 0.45, "90%").rules
    assert rules.columns == ["antecedents", "consequents", *METRICS]
    assert rules["confidence"].min() >= 0.9  # type: ignore[operator]
    assert rules["antecedents"].dtype == pl.List(pl.String)


@pytest.mark.parametrize("use_colnames", [False, True])
@pytest.mark.parametrize("name", ["apriori", "fpgrowth"])
def test_code_for_mlxtend_goes_on_working(dense: pd.DataFrame, name: str, use_colnames: bool) -> None:
    options: Any = {"min_support": 0.5, "use_colnames": use_colnames, "max_len": 3}
    wanted = getattr(peer, name)(dense, **options)
    found = getattr(ours, name)(dense, **options)
    assert list(found.columns) == list(wanted.columns) == ["support", "itemsets"]
    assert dict(zip(found["itemsets"], found["support"], strict=True)) == dict(
        zip(wanted["itemsets"], wanted["support"], strict=True)
    )
    pd.testing.assert_frame_equal(
        sorted_rules(peer.association_rules(found, min_threshold=0.9)),
        sorted_rules(peer.association_rules(wanted, min_threshold=0.9)),
    )


def test_nothing_large_is_an_empty_frame_for_code_of_mlxtend() -> None:
    frame = pd.DataFrame({"a": [True, False, False], "b": [False, True, False]})
    assert len(ours.apriori(frame, min_support=0.9)) == 0


@pytest.mark.parametrize("nodes", [None, 2])
@pytest.mark.parametrize("source", [[[1], [2], [3]], [["a"], ["b"], ["c"]]])
def test_nothing_large_is_an_empty_result(source: list[list[Any]], nodes: int | None) -> None:
    result = incast.mine(source, 0.9, "50%", nodes=nodes)
    some = incast.mine(source, 0.3, "50%")
    assert result.itemsets.schema == some.itemsets.schema
    assert result.rules.schema == some.rules.schema
    assert (len(result.itemsets), len(result.rules), len(result.closed()), len(result.maximal())) == (0,) * 4
    assert [each["large"] for each in result.passes] == [0]


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_nothing_large_is_a_result_of_the_command(tmp_path: Path, form: str) -> None:
    (tmp_path / "a.dat").write_text("1\n2\n3\n")
    options = ("--support", "90%", "--confidence", "50%", "--format", form)
    done = incast_command("mine", "a.dat", *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 itemsets are in 3 or more of 3 transactions" in done.stdout
    folder = tmp_path / "results" / "mine-a"
    assert json.loads((folder / "summary.json").read_text())["itemsets"] == 0
    if form == "parquet":
        assert pl.read_parquet(folder / "itemsets.parquet").columns == ["support", "itemsets", "count"]
    if form == "csv":
        assert (folder / "itemsets.csv").read_text() == "itemset,count,support\n"
    if form == "json":
        assert json.loads((folder / "rules.json").read_text()) == []


def test_a_pipe_is_read_and_a_mark_of_byte_order_is_no_item(tmp_path: Path) -> None:
    text = codecs.BOM_UTF8 + b"1 2\n2 3\n"
    file, pipe = tmp_path / "marked.dat", tmp_path / "pipe"
    file.write_bytes(text)
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(text))
    writer.start()
    found = [incast.mine(each, 1.0).itemsets.to_dicts() for each in (pipe, file)]
    writer.join()
    assert found == [[{"support": 1.0, "itemsets": [2], "count": 2}]] * 2


def test_a_conviction_without_end_is_written_as_the_form_can(tmp_path: Path) -> None:
    found = incast.mine([["a", "b"], ["b"]], 0.5, 1.0)
    for form, said in (("csv", ",inf,"), ("json", '"conviction":null')):
        output.write(found, tmp_path / form, form)
        assert said in (tmp_path / form / f"rules.{form}").read_text()


@pytest.mark.parametrize("kind", ["parquet", "json"])
def test_the_command_writes_what_frames_would(tmp_path: Path, dense: pd.DataFrame, kind: str) -> None:
    rows = [(at, name) for at, row in enumerate(dense.to_numpy()) for name in dense.columns[row]]
    table = pl.DataFrame(rows, schema=["transaction", "item"], orient="row")
    table.with_columns(pl.format('{} "é"', "item").alias("item")).write_parquet(tmp_path / "d.parquet")
    options = ("--support", "45%", "--confidence", "90%", "--format", kind)
    done = incast_command("mine", "d.parquet", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = incast.mine(tmp_path / "d.parquet", "45%", "90%")
    read = getattr(pl, f"read_{kind}")
    for name in ("itemsets", "rules"):
        wanted = getattr(result, name)
        found = read(tmp_path / "results" / "mine-d" / f"{name}.{kind}")
        assert len(wanted)
        assert found.cast(wanted.schema).equals(wanted), name


def test_items_in_csv_can_be_told_apart(tmp_path: Path) -> None:
    names = ["salt, fine", '6" nails', "beer", "", " ", "two\nlines", 'a"b', "é"]
    result = incast.mine([names], 1.0, "50%")
    output.write(result, tmp_path / "out", "csv")
    with (tmp_path / "out" / "itemsets.csv").open(newline="") as file:
        fields = [row["itemset"] for row in csv.DictReader(file)]
    found = {tuple(next(csv.reader([field], delimiter=" "))) for field in fields}
    assert found == {tuple(items) for _, items, _ in result.itemsets.iter_rows()}
    assert len(found) == 2 ** len(names) - 1


MEASURED = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "incast", *sys.argv[1:]], check=False)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""
"""Runs a command and prints its peak memory in KiB. A child of the test itself would begin with the test's memory."""
LINE_OF_60 = " ".join(map(str, range(60))) + "\n"


def exploded(folder: Path, memory: int) -> tuple[list[str], int]:
    """What a run over a line of 60 items warns of and why it ends, and its peak memory in MiB."""
    (folder / "a.dat").write_text(LINE_OF_60)
    command = ["mine", "a.dat", "--support", "100%", "--memory", f"{memory}MiB"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 4, done.stderr
    return warned(done.stderr), int(done.stdout) >> 10


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_rules_are_written_and_not_kept(tmp_path: Path, form: str) -> None:
    """3^13 - 2 · 2^13 + 1 rules of one itemset and its subsets, which would take 270 MiB."""
    (tmp_path / "a.dat").write_text(" ".join(map(str, range(13))) + "\n")
    command = ["mine", "a.dat", "--support", "100%", "--confidence", "1%", "--format", form, "--json"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said, _, peak = done.stdout.strip().rpartition("\n")
    assert json.loads(said)["rules"] == 3**13 - 2 * 2**13 + 1
    assert int(peak) >> 10 < PYTHON_MIB


def test_rules_that_were_interrupted_are_no_result_and_replace_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.dat").write_text("1 2 3\n1 2\n")
    result = incast.mine(tmp_path / "a.dat", support="50%", confidence="50%")
    write, out = output._write, tmp_path / "out"

    def interrupted(result: incast.MineResult, name: str, file: Path, form: str) -> None:
        write(result, name, file, form)
        if name == "rules":
            raise KeyboardInterrupt

    for before in ([], ["incast-mine.json", "itemsets.csv", "rules.csv", "summary.json"]):
        with monkeypatch.context() as patch:
            patch.setattr(output, "_write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                output.write(result, out, "parquet")
        assert sorted(each.name for each in out.iterdir()) == before
        # What a killed run leaves does not keep the next one out.
        (out / ".rules.csv.tmp").write_text("half")
        output.check_free(out, force=bool(before))
        output.write(result, out, "csv")


PYTHON_MIB = 85
"""Python with what writes messages, and what the allocator does not give back."""


@pytest.mark.parametrize(("memory", "passes"), [(16, 4), (64, 4), (100, 4), (256, 5)])
def test_itemsets_that_explode_end_within_the_memory_and_say_so_before(
    tmp_path: Path, memory: int, passes: int
) -> None:
    (warning, error), peak = exploded(tmp_path, memory)
    large = {4: "487,635", 5: "5,461,512"}[passes]
    assert warning.startswith(
        f"warning: pass {passes} found {large} large itemsets, and up to 1.15e+18 longer"
    )
    assert "do not fit into --memory" in error
    assert f"--longest {passes}" in error
    assert "the result's folder keeps what was finished" in error
    # Large itemsets may take 64 MiB, however little there is.
    assert peak < max(memory, 64) + PYTHON_MIB
    again = incast_command("mine", "a.dat", "--support", "100%", "--longest", 3, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "36,050 itemsets" in again.stdout


def test_passes_that_more_memory_found_are_refused_within_the_memory(tmp_path: Path) -> None:
    exploded(tmp_path, 256)
    kept = tmp_path / "results" / "mine-a" / KEPT_PASSES
    size = kept.stat().st_size
    (error,), peak = exploded(tmp_path, 16)
    assert "large itemsets of 5 items do not fit into --memory (16 MiB) with the 523,685" in error
    assert peak < 64 + PYTHON_MIB
    # They are there for a run with more memory.
    assert "the result's folder keeps what was finished" in error
    assert kept.stat().st_size == size


def test_a_file_larger_than_memory_takes_no_more_than_it_may(tmp_path: Path) -> None:
    generate(like("t10i4d100k", transactions=1_000_000), tmp_path / "a.dat")
    assert (tmp_path / "a.dat").stat().st_size > 35 << 20
    (tmp_path / "tiny.dat").write_text("1 2\n")
    peak = {}
    for file, memory, place in (("tiny", "8MiB", "tiny"), ("a", "8MiB", "little"), ("a", "1GiB", "much")):
        command = ["mine", f"{file}.dat", "--support", "0.1%", "--memory", memory, "--out", place]
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        peak[place] = int(done.stdout.splitlines()[-1])
    # What a tiny file takes is Python's.
    assert peak["little"] - peak["tiny"] < (8 + 4) << 10
    assert peak["tiny"] < 48 << 10
    little, much = (pl.read_parquet(tmp_path / place / "itemsets.parquet") for place in ("little", "much"))
    assert len(much) > 1000
    assert little.equals(much)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("name", ["{}", "item {}"])
def test_a_table_larger_than_memory_comes_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, name: str
) -> None:
    random = np.random.default_rng(1)
    items = (random.pareto(1, 20_000) * 3).astype(int) % 50
    table = pl.DataFrame(
        {
            "transaction": random.integers(0, 3000, len(items)),
            "item": items if name == "{}" else [name.format(item) for item in items],
        }
    )
    file = tmp_path / f"a.{form}"
    table.write_parquet(file) if form == "parquet" else table.write_csv(file)
    whole = incast.mine(file, 0.01, 0.5)
    parts: list[int] = []

    def in_parts(table: pl.LazyFrame, count: int, *rest: Any) -> Any:
        parts.append(count)
        return one_by_one(table, count, *rest)

    one_by_one = tables._in_parts
    monkeypatch.setattr(tables, "_LEAST", 1)
    monkeypatch.setattr(tables, "_in_parts", in_parts)
    found = incast.mine(file, 0.01, 0.5, memory=200_000)
    assert parts == [11]
    assert found.itemsets.equals(whole.itemsets)
    assert found.rules.equals(whole.rules)

    missing = table.with_row_index().with_columns(
        transaction=pl.when(pl.col("index") != 9).then("transaction")
    )
    missing.write_parquet(file) if form == "parquet" else missing.write_csv(file)
    with pytest.raises(incast.ScenarioError, match="row 10, column transaction: there is no value"):
        incast.mine(file, 0.01, memory=200_000)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_disk_that_is_full_is_named(tmp_path: Path) -> None:
    generate(like("t10i4d100k", transactions=300_000), tmp_path / "a.dat")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(small)], check=True)
    try:
        command = ["mine", "a.dat", "--support", "1%", "--memory", "1MiB"]
        done = incast_command(*command, "--out", small / "out", cwd=tmp_path)
        assert done.returncode == 4
        assert f"{small}: transactions that exceed the memory" in done.stderr
        assert "No space left on device" in done.stderr
        assert not list(small.iterdir())
    finally:
        subprocess.run(["umount", str(small)], check=True)


BASKETS = [["beer", "chips"], ["beer", "chips", "salsa"], ["milk"], ["beer", "milk"]]


def long_form() -> pl.DataFrame:
    rows = [(f"t{at}", item) for at, items in enumerate(BASKETS) for item in items]
    return pl.DataFrame(rows, schema=["transaction", "item"], orient="row")


def one_hot() -> pd.DataFrame:
    items = sorted({item for basket in BASKETS for item in basket})
    return pd.DataFrame([{item: item in basket for item in items} for basket in BASKETS])


def test_every_form_gives_the_same(tmp_path: Path) -> None:
    long_form().write_parquet(tmp_path / "a.parquet")
    long_form().sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "a.csv")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    wanted: Found = {
        frozenset({"beer"}): 3,
        frozenset({"chips"}): 2,
        frozenset({"milk"}): 2,
        frozenset({"beer", "chips"}): 2,
    }
    sparse = one_hot().astype(pd.SparseDtype(bool, fill_value=False))
    files = [tmp_path / name for name in ("a.parquet", "a.csv", "a.csv.gz")]
    frames = [
        long_form(),
        pd.DataFrame(long_form().to_dict(as_series=False)),
        one_hot(),
        pl.DataFrame(one_hot().to_dict("list")),
        sparse,
    ]
    for source in [*files, *frames, one_hot().astype(int), BASKETS]:
        assert flat(incast.mine(source, 0.5)) == wanted


def test_text_may_be_compressed(sparse: Path, tmp_path: Path) -> None:
    wanted = flat(incast.mine(sparse, 0.02))
    quest = like("t10i4d100k", transactions=10_000)
    for suffix in (".gz", ".zst"):
        file = tmp_path / f"same.dat{suffix}"
        generate(quest, file, threads=2)
        assert flat(incast.mine(file, 0.02)) == wanted
        (tmp_path / f"cut{suffix}").write_bytes(file.read_bytes()[:-20])
        with pytest.raises(incast.ScenarioError, match=f"cut{suffix}: the compressed file ends too early"):
            incast.mine(tmp_path / f"cut{suffix}", 0.02)
        (tmp_path / f"junk{suffix}").write_bytes(b"1 2 3\n4 5 6\n")
        with pytest.raises(incast.ScenarioError, match=f"junk{suffix}: "):
            incast.mine(tmp_path / f"junk{suffix}", 0.02)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3 -4\n", 'bad.dat:2: "-4" is not an item: whole numbers from 0 to 4294967295'),
        ("1 2\n3 4.5\n", 'bad.dat:2: "4.5" is not an item'),
        ("1 2\n\n3\n", "bad.dat:2: an empty line is no transaction"),
        ("1\n2\n4294967296 5", 'bad.dat:3: "4294967296" is not an item'),
        ("", "bad.dat: there is no transaction in it"),
    ],
)
def test_bad_text_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.dat").write_text(text)
    with pytest.raises(incast.ScenarioError) as caught:
        incast.mine(tmp_path / "bad.dat", 0.5)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            pl.DataFrame({"transaction": [1, None], "item": [1, 2]}),
            "row 2, column transaction: there is no value",
        ),
        (pl.DataFrame({"transaction": [1, 2], "item": [1, -2]}), "column item: -2 is not an item"),
        (pd.DataFrame({"a": [0, 1], "b": [1, 2]}), "2 in a one-hot frame|.*\\(2\\) in a one-hot frame"),
        ([[1, 2], [3, 2**32]], "4294967296 is not an item"),
        ([[1, "1"]], "transaction 1: '1' is of the type str, and 1 of int: items of one type are allowed"),
        ([[1], [2, True]], "transaction 2: True is of the type bool, and 1 of int"),
        ([["a"], ["b", None]], "transaction 2: there is no value"),
        ([[0.5], [1.5, float("nan")]], "transaction 2: there is no value"),
        ([["a", pd.NA]], "transaction 1: there is no value"),
        ([[["a"], ["b"]]], "transaction 1: \\['a'\\] is no item"),
        (["ab", "cd"], "transaction 1: 'ab': a list, set or tuple of items is allowed"),
        ([1, 2], "transaction 1: 1: a list, set or tuple"),
        (
            pl.DataFrame({"transaction": [1, 2], "item": [["a"], ["b"]]}),
            r"column item: it holds values of the type list\(string\)",
        ),
        (
            pl.DataFrame({"transaction": [[1], [2]], "item": ["a", "b"]}),
            "column transaction: it holds values",
        ),
        (pl.DataFrame({"transaction": [1, 2], "item": [1.0, float("nan")]}), "row 2, column item: there is"),
        (pd.DataFrame({"transaction": [1, 2], "item": ["a", None]}), "row 2, column item: there is no value"),
        (pd.DataFrame({"transaction": [1, 2], "item": ["a", 1]}), "row 2, column item: 1 is of the type int"),
        (pd.DataFrame({"transaction": [1, 2], "item": [["a"], ["b"]]}), "row 1, column item: .* is no item"),
        (pd.DataFrame({1: [0, 1], "1": [1, 1]}), "columns 1 and '1' have the same name"),
        ([], "there is no transaction"),
        (7, "int: a file, a frame or collections"),
        (Path("nowhere.dat"), "nowhere.dat: there is no such file"),
        (Path("nowhere.csv"), "nowhere.csv: "),
    ],
)
def test_bad_data_is_refused(source: Any, message: str) -> None:
    with pytest.raises(incast.ScenarioError, match=message):
        incast.mine(source, 0.5)


@pytest.mark.parametrize("support", [0, -0.1, 1.5, "0%", "101%", "x", "nan", ""])
def test_shares_outside_of_0_to_1_are_refused(support: str | float) -> None:
    with pytest.raises(incast.ScenarioError, match=r"--support: .*above 0 and at most 1"):
        incast.mine([[1]], support)


def test_a_percentage_is_the_nearest_double() -> None:
    assert share("0.7%", "") == 0.007
    assert share("7 %", "") == 0.07
    assert share("100%", "") == share("1", "") == 1.0
    assert share(0.25, "") == 0.25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "some"}, "--only: 'some': all, closed, maximal are allowed"),
        ({"threads": 0}, "--threads: 0 threads"),
        ({"longest": 0}, "--longest: 0 items"),
        ({"memory": "much"}, "--memory: "),
        ({"confidence": "120%"}, "--confidence: 120%"),
    ],
)
def test_other_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(incast.ScenarioError, match=message):
        incast.mine([[1]], 0.5, **options)


def test_memory_and_threads_change_nothing(sparse: Path) -> None:
    wanted = incast.mine(sparse, 0.005)
    for memory, threads in (("20kB", 1), ("1MB", 3)):
        result = incast.mine(sparse, 0.005, memory=memory, threads=threads)
        assert result.itemsets.equals(wanted.itemsets)
    assert incast.mine(sparse, 0.005, memory="20kB").passes[1]["scans"] > 5


def test_the_preset_is_like_table_2_of_the_document(tmp_path: Path) -> None:
    """There: 1023 items; 522,753 candidates, 32 large; 19, 19; 7, 7; 1, 0. It had 10,000,000 transactions."""
    file = tmp_path / "hpa.dat"
    generate(like("hpa-table2"), file, threads=2)
    passes = [(each["candidates"], each["large"]) for each in incast.mine(file, "0.7%").passes]
    assert passes == [(None, 1022), (521_731, 30), (19, 18), (7, 6), (1, 0)]


def incast_command(*arguments: str | int | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "incast", *map(str, arguments)]
    environment = os.environ | {"COLUMNS": "120", "NO_COLOR": "1"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_commands(tmp_path: Path) -> None:
    done = incast_command("generate", "quest", "q.dat", "--transactions", 2000, "--seed", 5, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for form in ("parquet", "csv", "json"):
        options = ["--support", "1%", "--confidence", "60%", "--format", form, "--force"]
        done = incast_command("mine", "q.dat", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "Result: results/mine-q" in done.stdout
        folder = tmp_path / "results" / "mine-q"
        assert {each.name for each in folder.iterdir()} == {
            "incast-mine.json", "summary.json", f"itemsets.{form}", f"rules.{form}",
        }  # fmt: skip
        read = partial(pl.read_csv, infer_schema=False) if form == "csv" else getattr(pl, f"read_{form}")
        summary = json.loads((folder / "summary.json").read_text())
        assert len(read(folder / f"itemsets.{form}")) == summary["itemsets"] > 100
        assert len(read(folder / f"rules.{form}")) == summary["rules"] > 0
    told = incast_command("mine", "q.dat", "--support", "1%", "--json", "--force", cwd=tmp_path)
    assert json.loads(told.stdout)["transactions"] == 2000
    assert not (folder / "rules.json").exists()


@pytest.mark.parametrize("named", [False, True])
def test_parquet_files_hold_the_frames(tmp_path: Path, named: bool) -> None:
    """More rows than a row group of 65,536 has."""
    baskets = [[*range(17)], [*range(17)], *[[17, 18, 19]] * 38]
    names = [[f"item {item}" for item in each] for each in baskets]
    found = incast.mine(names if named else baskets, "5%")
    output.write(found, tmp_path, "parquet")
    read = pl.read_parquet(tmp_path / "itemsets.parquet")
    assert read.schema == found.itemsets.schema
    assert read.equals(found.itemsets)
    assert len(read) > 1 << 17
    found = incast.mine(names if named else baskets, "50%", "60%")
    output.write(found, tmp_path, "parquet")
    read = pl.read_parquet(tmp_path / "rules.parquet")
    assert (read.schema, len(read)) == (found.rules.schema, 12)
    assert read.equals(found.rules)


def test_commands_that_are_wrong_end_with_2_and_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("1 2\n1 3\n")
    mine = ("mine", "a.dat", "--support", "50%", "--out", "r")
    assert incast_command(*mine, cwd=tmp_path).returncode == 0
    before = (tmp_path / "r" / "summary.json").read_bytes()
    for wrong in ((*mine, "--format", "xls"), ("mine", "b.dat", "--support", "50%"), mine[:2]):
        done = incast_command(*wrong, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.strip()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "file").touch()
    done = incast_command(*mine[:-1], "theirs", "--force", cwd=tmp_path)
    assert done.returncode == 2
    assert (tmp_path / "r" / "summary.json").read_bytes() == before
    wrong_quest = incast_command("generate", "quest", "q.dat", "--length", "0.5", cwd=tmp_path)
    assert wrong_quest.returncode == 2
    assert "--length: 0.5: 1 to 1000 is allowed" in wrong_quest.stderr
    negative = incast_command("generate", "quest", "q.dat", "--transactions", "-3", cwd=tmp_path)
    assert negative.returncode == 2
    assert "--transactions: -3: 1 to " in negative.stderr
    large = incast_command("generate", "quest", "q.dat", "--items", "9999999999", cwd=tmp_path)
    assert "--items: 9999999999: 1 to 4294967295 is allowed" in large.stderr
    assert not (tmp_path / "q.dat").exists()


def test_one_hot_frames_are_of_named_items_and_plain_values() -> None:
    for frame, said in (
        (pd.DataFrame([[1, 0], [1, 1]], columns=[None, "a"]), "column 1: it has no name"),
        (pl.DataFrame({"a": [[1], [0]], "b": [[1], [1]]}), r"\[1\] in a one-hot frame"),
        (pd.DataFrame({"a": [2, 0]}), "^2 in a one-hot frame"),
        (pd.DataFrame({"a": [float("nan"), 0]}), "^nan in a one-hot frame"),
    ):
        with pytest.raises(incast.IncastError, match=said):
            incast.mine(frame, support=0.1)


def test_frames_that_are_yet_to_be_read_are_read() -> None:
    frame = pl.DataFrame({"transaction": [1, 2], "item": ["a", "b"]})
    assert flat(incast.mine(frame.lazy(), support=0.1)) == flat(incast.mine(frame, support=0.1))
