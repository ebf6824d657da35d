"""What is written replaces nothing that is no file, and makes no folder that nobody asked for."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

import farmem_traces as traces
from incast import folder
from incast.errors import OutputError
from incast.mining import quest
from typed import call

RUN = """name: run
topology: {kind: single-switch, hosts: 2, host_link: {rate: 1Gbps, delay: 1us}}
jobs: [{name: one, kind: bulk, pairs: [[host0, host1]], size: 1MB}]
measure: {interval: 1ms}
"""
STAR = """nodes: [{id: a, kind: host}, {id: b, kind: host}]
links: [{a: a, b: b, rate: 100Mbps}]
"""


def test_generate_makes_no_folders(tmp_path: Path) -> None:
    found = call("generate", "quest", tmp_path / "a" / "b" / "rows.dat", "--transactions", "10")
    assert found.returncode == 2
    assert f"{tmp_path / 'a' / 'b'} is no folder" in found.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["rows.parquet", "rows.CSV", "rows.json.gz", "-"])
def test_generate_refuses_names_of_other_files(tmp_path: Path, name: str) -> None:
    found = call("generate", "quest", tmp_path / name, "--transactions", "10")
    assert found.returncode == 2
    assert "a transaction per line; choose a name like quest.txt.gz" in found.stderr
    assert not list(tmp_path.iterdir())


def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe.dat", tmp_path / "link.dat"
    os.mkfifo(pipe)
    link.symlink_to(pipe)

    def export(file: Path) -> None:
        with folder.exported(file):
            raise AssertionError

    for way in (pipe, link):
        for write in (partial(quest.generate, quest.Quest(transactions=1), force=True), export):
            with pytest.raises(OutputError, match="is no file: choose another"):
                write(way)
    with pytest.raises(OutputError, match="is no file: choose another"):
        folder.write_text(pipe, "")
    assert pipe.is_fifo()
    assert link.is_symlink()


def test_a_link_leads_to_the_file_that_is_written(tmp_path: Path) -> None:
    file, link = tmp_path / "file.dat", tmp_path / "link.dat"
    file.touch()
    link.symlink_to(file)
    quest.generate(quest.Quest(transactions=1), link, force=True)
    assert link.is_symlink()
    assert file.read_text()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ran")
    (place / "run.yaml").write_text(RUN)
    assert call("run", place / "run.yaml", "--out", place / "run", "--no-report").returncode == 0
    return place / "run"


@pytest.mark.parametrize(
    "command",
    [
        "broadcast measure --to b --out FILE",
        "broadcast plan star.yaml --source a --algorithm stable --out FILE",
        "broadcast plan star.yaml --source a --algorithm stable --picture FILE.svg",
        "compare run run --report FILE.html",
        "farmem predict a.trace --local 50% --out FILE.csv",
        "metrics run --out FILE",
        "trace run --out FILE",
    ],
)
def test_a_file_is_overwritten_only_if_it_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran: Path, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("star.yaml").write_text(STAR)
    Path("run").symlink_to(ran)
    traces.write(Path("a.trace"), traces.scans(100, 2))
    words = command.replace("FILE", "kept").split()
    Path(words[-1]).write_text("the user's")
    refused = call(*words)
    assert refused.returncode == 2
    assert f"{words[-1]} is there already: choose another, or allow it to be overwritten" in refused.stderr
    assert Path(words[-1]).read_text() == "the user's"
    if words[1] == "measure":
        return  # There is no b.
    done = call(*words, "--force")
    assert done.returncode == 0, done.stderr
    assert Path(words[-1]).read_bytes() != b"the user's"
