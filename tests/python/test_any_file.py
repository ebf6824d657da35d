"""Files of people, damaged at random: each is refused in words, or read; nothing else happens."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incast
from incast import report
from incast.broadcast import hosts
from incast.broadcast import read as network
from incast.cli import show_choices, show_run
from incast.errors import IncastError
from incast.farmem import problem
from incast.farmem.traced import Traced
from incast.lab import graphread
from incast.study import kept
from incast.study.load import load
from incast.variants import make_variants
from incast.walks import changes
from incast.walks.read import read as read_graph
from incast.written import WrittenScenario

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "studies/stable-broadcast"
TOKENS = [
    b"", b"\0", b"\xff", b"\n", b",", b":", b"-", b"0", b"-1", b"1e400", b"nan", b"9" * 30, b"null", b"[]", b"{}", b'"',
    b"!!python/object:os.system", b"&a [*a]", b"\xe2\x80\xae", b"true", b"- " * 40, b"[" * 200, b"\x1b[31m", b"..",
]  # fmt: skip
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(TOKENS) | st.binary(max_size=4)),
    min_size=1,
    max_size=3,
)
FEW = settings(max_examples=settings().max_examples // 5)
"""Of what takes longer."""
EDGES = "source,target\na,b\nb,c\nc,a\n"
TIMED = "at,change,source,target\n0.1s,add,a,b\n0.2s,remove,b,c\n"
LINKED = json.dumps(
    {"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b", "rate": "1Gbps"}]}
)


def damaged(content: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    """With bytes replaced, at places that are parts of the whole."""
    for place, length, token in edits:
        at = int(place * len(content))
        content = content[:at] + token + content[at + length :]
    return content


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def refused_or_read(read: Callable[[], object]) -> None:
    try:
        read()
    except (IncastError, graphread.UnreadableError) as error:
        assert str(error)
        assert "Traceback" not in str(error)


def _graph(file: Path) -> object:
    edges = file.with_name("edges.csv")
    edges.write_text(EDGES)
    return changes.read(file, read_graph(edges, weighted=False, directed=False, seed=1))


FILES: dict[str, tuple[bytes, Callable[[Path], object]]] = {
    "small.yaml": ((ROOT / "examples/faults.yaml").read_bytes(), lambda file: make_variants(WrittenScenario.from_file(file))),
    "network.yaml": ((STUDY / "network.yaml").read_bytes(), network.read),
    "network.json": (LINKED.encode(), network.read),
    "lab.clab.yml": ((ROOT / "examples/lab.clab.yml").read_bytes(), graphread.read),
    "links.csv": (b"a,b,rate\nx,y,1Gbps\ny,z,10Mbps\n", graphread.read),
    "links.edgelist": (b"x y\ny z {'rate': '1Gbps'}\n", graphread.read),
    "hosts.txt": (b"one\nuser@two # a comment\nssh://user@three:7000\n127.0.0.1:7000\n", hosts.read),
    "memory.yaml": ((ROOT / "studies/remote-memory/memory.yaml").read_bytes(), problem.read),
    "changes.csv": (TIMED.encode(), _graph),
    "flat.trace": (b"incast-farmem-trace\n" + bytes(range(64)), Traced.read),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
@given(edits=EDITS)
def test_a_damaged_file_is_refused_or_read(name: str, edits: list[tuple[float, int, bytes]]) -> None:
    content, read = FILES[name]
    with folder() as place:
        (place / name).write_bytes(damaged(content, edits))
        refused_or_read(lambda: read(place / name))


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_right_undamaged(name: str, tmp_path: Path) -> None:
    content, read = FILES[name]
    (tmp_path / name).write_bytes(content)
    if name != "flat.trace":
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["study.yaml", "claims.toml", "published.csv", "runs.csv"])
@FEW
@given(edits=EDITS)
def test_a_damaged_study_is_refused_or_read(name: str, edits: list[tuple[float, int, bytes]]) -> None:
    with folder() as place:
        for file in STUDY.iterdir():
            if file.is_file():
                shutil.copy(file, place)
        (place / name).write_bytes(damaged((place / name).read_bytes(), edits))
        refused_or_read(lambda: kept.read(load(place)))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("any")
    (place / "small.yaml").write_text(
        "name: small\ntopology: {kind: single-switch, hosts: 4, host_link: {rate: 10Gbps}}\n"
        "jobs: [{name: a, kind: incast, receiver: host0, size: 10kB}]\n"
    )
    incast.run(place / "small.yaml", place / "out")
    return place / "out"


@FEW
@given(edits=EDITS, name=st.sampled_from(["summary.json", "incast-run.json", "flows/part-00000.parquet"]))
def test_a_damaged_result_is_refused_or_read(
    result: Path, name: str, edits: list[tuple[float, int, bytes]]
) -> None:
    with folder() as place:
        out = place / "out"
        shutil.copytree(result, out)
        (out / name).write_bytes(damaged((out / name).read_bytes(), edits))

        def read() -> None:
            found = incast.Result.open(out)
            _ = (found.flows, found.runs, found.choices, found.interrupted, found.incomplete, found.passed)
            _ = found.fingerprint
            incast.compare(incast.Result.open(result), found)

        refused_or_read(read)


ANYTHING: st.SearchStrategy[object] = st.sampled_from(
    [None, True, 0, -1, 4, 0.5, 1e300, 10**30, "", "x", "\x1b[2J", [], [4], ["x"], [[]], {}, {"a": 1}, [{}]]
)


def places(content: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The ways to all values but the whole."""
    entries = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    for key, inner in entries:
        yield (*at, key)
        yield from places(inner, (*at, key))


def retyped(content: object, at: tuple[str | int, ...], value: object) -> object:
    """With another value at a place, as far as it is still there."""
    if not at:
        return value
    key, *rest = at
    if isinstance(content, dict) and key in content:
        return content | {key: retyped(content[key], tuple(rest), value)}
    if isinstance(content, list) and isinstance(key, int) and key < len(content):
        return [retyped(each, tuple(rest), value) if n == key else each for n, each in enumerate(content)]
    return content


STATED = {
    "incomplete": [{"job": "a", "outcome": "failed", "why": "lost"}],
    "thresholds": [{"text": "done < 1s", "figure": "done_ps", "value": 1, "holds": False, "why": ""}],
    "unfinished_tasks": {
        "count": 2,
        "first": [{"kind": "map", "number": 1, "host": "h", "start_ps": 1, "from": "h", "to": None}],
    },
    "deadlock": {"cycle": [{"port": "a:b", "class": 1}], "behind": ["c:d"]},
    "end": "stuck",
}
"""What only a run that went wrong has in its summary."""


def shown(place: Path, other: Path) -> None:
    """All that commands show of a result."""
    found = incast.Result.open(place)
    incast.compare(incast.Result.open(other), found)
    for text in (show_run.incomplete, show_run.unfinished, show_run.deadlocks, show_run.thresholds):
        text(found.runs)
    list(show_run.jobs(found, every=True))
    show_run.network(found, every=True)
    choices = {"a": found.runs, "b": [incast.Result.open(other)]}
    show_run.answer(choices)
    list(show_choices.tables(choices, every=True))


@FEW
@given(data=st.data())
def test_a_summary_of_other_types_is_refused_or_read(result: Path, data: st.DataObject) -> None:
    content = json.loads((result / "summary.json").read_text()) | STATED
    with folder() as place:
        shutil.copytree(result, place / "out")
        (place / "out" / "summary.json").write_text(json.dumps(content))
        # As it is it is no mistake.
        shown(place / "out", result)
        for _ in range(5):
            at = data.draw(st.sampled_from(list(places(content))))
            damage = retyped(content, at, data.draw(ANYTHING))
            (place / "out" / "summary.json").write_text(json.dumps(damage))
            refused_or_read(lambda: shown(place / "out", result))


@FEW
@given(data=st.data(), name=st.sampled_from(["summary.json", "scenario.json", "graph.json"]))
def test_the_report_of_other_types_is_refused_or_written(
    result: Path, name: str, data: st.DataObject
) -> None:
    content = json.loads((result / name).read_text()) | (STATED if name == "summary.json" else {})
    at = data.draw(st.sampled_from(list(places(content))))
    with folder() as place:
        shutil.copytree(result, place / "out")
        (place / "out" / name).write_text(json.dumps(retyped(content, at, data.draw(ANYTHING))))
        refused_or_read(lambda: report.write(place / "out"))


@FEW
@given(data=st.data())
def test_walks_of_other_types_are_refused_or_read(walks: Path, data: st.DataObject) -> None:
    content = json.loads((walks / "summary.json").read_text())
    at = data.draw(st.sampled_from(list(places(content))))
    with folder() as place:
        shutil.copytree(walks, place / "out")
        (place / "out" / "summary.json").write_text(json.dumps(retyped(content, at, data.draw(ANYTHING))))

        def read() -> None:
            found = incast.WalkResult.open(place / "out")
            _ = (found.interrupted, found.given_up, found.unwritten, found.top, found.queues())
            report.write(place / "out")

        refused_or_read(read)


@pytest.fixture(scope="module")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("walks")
    (place / "edges.csv").write_text(EDGES)
    incast.walk(place / "edges.csv", out=place / "out", walks=20, servers=2)
    return place / "out"
