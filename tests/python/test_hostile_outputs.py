"""What is written replaces nothing that is no file, and makes no folder that nobody asked for."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from incast import folder
from incast.errors import OutputError
from incast.mining import quest
from typed import call


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
