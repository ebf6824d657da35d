"""Files of people are read with a bound, and by the names that they have: no module goes its own way."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from incast import bounded

PACKAGE = Path(__file__).parents[2] / "python/incast"
WHOLE = {"read_text", "read_bytes"}
POLARS = {"read_csv", "scan_csv", "read_parquet", "scan_parquet", "read_json", "read_ndjson", "scan_ndjson"}
ALLOWED = {
    "bounded.py": "it is what bounds",
    "table_files.py": "it is what takes names as they are",
    "report/html.py": "a file of the package",
    "network/openmetrics.py": "a file of the package",
    "view/server.py": "a file of the package",
    "view/modules.py": "a file of the package",
    "cli/view.py": "opens a browser",
    "cli/validate.py": "a file of the package",
    "farmem/coverage.py": "the kernel's files, of /proc",
    "farmem/swap/run.py": "the kernel's files, of /sys",
    "farmem/swap/changes.py": "the kernel's files and a note of root's in /run",
    "farmem/swap/device.py": "the kernel's files, of /sys and /proc",
    "farmem/swap/group.py": "the kernel's files, of cgroups",
    "farmem/run.py": "counters that our own library leaves in a folder of ours",
    "study/execute.py": "the kernel's file, of /proc",
    "live/actor.py": "what a member of ours leaves, in a folder that only we may enter",
    "live/place.py": "handed on as a stream",
    "mining/text.py": "read in pieces",
    "mining/nodes.py": "a line that is bounded, and the rest in pieces",
    "walks/read.py": "numpy looks at its head first, and reads what that says",
    "walks/changes.py": "a pipe, by lines that are bounded",
    "kinds/flow_tables.py": "a regular file whose size was looked at, by lines",
    "farmem/program.py": "the first bytes of a program",
    "farmem/swap/held.py": "opened, not read",
}
"""Modules that read files themselves, and why that ends."""


def _calls(file: Path) -> Iterator[tuple[int, str]]:
    """Lines that read a file without `incast.bounded`, or a table without `incast.table_files`."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Call):
            continue
        said = ast.unparse(node.func)
        last = said.rpartition(".")[2]
        if (
            isinstance(node.func, ast.Attribute) and (last in WHOLE or said.removeprefix("pl.") in POLARS)
        ) or said in ("json.load", "tomllib.load", "pickle.load", "np.load", "np.fromfile"):
            yield node.lineno, said
        elif last == "open" and said not in ("MeasuredGrid.open", "Result.open", "os.open"):
            modes = [each.value for each in (*node.args, *(k.value for k in node.keywords if k.arg == "mode"))
                     if isinstance(each, ast.Constant)]  # fmt: skip
            if not any(isinstance(mode, str) and set(mode) & set("wax") for mode in modes):
                yield node.lineno, said


def test_no_module_reads_files_without_a_bound() -> None:
    found = {
        f"{file.relative_to(PACKAGE)}:{line}": call
        for file in sorted(PACKAGE.rglob("*.py"))
        for line, call in _calls(file)
    }
    # `document.read_text` reads a text, and `np.load` maps a file.
    ours = {"read_text", "np.load"}
    stray = {
        place: call
        for place, call in found.items()
        if place.split(":")[0] not in ALLOWED and call not in ours
    }
    assert not stray


def test_every_allowance_is_used() -> None:
    assert not [name for name in ALLOWED if not any(_calls(PACKAGE / name))]


def test_a_file_is_read_to_its_bound(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 100)
    assert bounded.read_bytes(file, 100) == b"x" * 100
    with pytest.raises(OSError, match="the file is too large: at most 99 bytes are allowed"):
        bounded.read_bytes(file, 99)
    assert bounded.read_end(file, 3) == b"xxx"
    assert bounded.read_end(file, 1000) == b"x" * 100
    # It says that it has no bytes.
    assert bounded.read_bytes(Path("/proc/self/status"), 100_000).startswith(b"Name:")


def test_a_pipe_is_read_to_its_end() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"abc")
    os.close(theirs)
    assert bounded.read_bytes(Path(f"/dev/fd/{ours}"), 10) == b"abc"
    os.close(ours)


def test_a_large_bound_costs_nothing_and_a_device_has_a_small_one() -> None:
    script = "from incast.bounded import read_bytes; read_bytes(__import__('pathlib').Path('{}'), 1 << 40)"
    for path, said in (("/dev/null", ""), ("/dev/zero", "the file is too large: at most 256000000 bytes")):
        limited = ["bash", "-c", f'ulimit -v 1500000 && exec {sys.executable} -c "{script.format(path)}"']
        ran = subprocess.run(limited, capture_output=True, text=True, check=False)
        assert said in ran.stderr
        assert bool(ran.returncode) == bool(said), ran.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("9" * 5000, "a number of 5000 digits: at most 40 are allowed"),
        ("[" * 100_000, "its values are nested too deeply"),
        ('{"a": NaN}', "NaN is no number of JSON"),
        ('["\\ud800"]', "a text has half of a pair of UTF-16"),
        ("\xff", "it is not UTF-8"),
    ],
)
def test_what_json_can_not_be(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=message):
        bounded.read_json(tmp_path / "a.json")


def test_json_is_read_as_it_is_written(tmp_path: Path) -> None:
    content = {
        "a": [1, 2.5, None, True, "\U0001f600\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")]
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert bounded.read_json(tmp_path / "a.json") == content


def test_lines_are_bounded() -> None:
    assert list(bounded.lines(io.StringIO("a\nb"))) == ["a\n", "b"]
    with pytest.raises(OSError, match="a line is too long"):
        list(bounded.lines(io.StringIO("a" * (bounded.LINE_CHARACTERS_MAX + 1))))
