"""Commands load what they need: nothing heavy for help, and a clear word where an extra is missing."""

from __future__ import annotations

import importlib.metadata
import math
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from scipy import special
from typer.main import get_command
from typer.testing import CliRunner

import incast
from broadcasts import HERE, INCAST
from helpers import SMALL, written
from incast import student
from incast.cli.app import app
from incast.cli.lazy import Lazy
from incast.extras import MissingLibraryError, extra
from incast.report import bundle

ROOT = Path(__file__).parents[2]
HEAVY = {
    "IPython", "altair", "anywidget", "grpc", "highspy", "jinja2", "networkx", "numpy", "pandas", "perfetto",
    "polars", "prometheus_client", "pydantic", "ray", "scipy", "starlette", "vl_convert",
}  # fmt: skip
MAIN = """
import sys
sys.argv[0] = "incast"
from incast.cli import main
try:
    main()
except SystemExit as ended:
    code = ended.code
else:
    code = 0
print(code or 0, *sorted({name.partition(".")[0] for name in sys.modules}))
"""
"""Runs a command; the last line says how it ended, and what was loaded."""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The heavy libraries that a command loads."""
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    code, *modules = done.stdout.splitlines()[-1].split()
    assert code == "0", (arguments, done.stdout, done.stderr)
    return HEAVY & set(modules)


@pytest.mark.parametrize("asked", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(tmp_path: Path, asked: str) -> None:
    assert loaded(tmp_path, asked) == set()


@pytest.mark.parametrize("group", ["broadcast", "farmem", "study", "generate"])
def test_help_on_a_group_loads_nothing_heavy(tmp_path: Path, group: str) -> None:
    assert loaded(tmp_path, group, "--help") == set()


@pytest.mark.parametrize("command", ["run", "validate", "new", "report", "metrics", "diverge"])
def test_help_on_a_command_loads_nothing_heavy(tmp_path: Path, command: str) -> None:
    assert loaded(tmp_path, command, "--help") == set()


def test_checks_of_scenarios_load_neither_frames_nor_what_draws(tmp_path: Path) -> None:
    scenario = written(tmp_path, SMALL)
    assert loaded(tmp_path, "validate", str(scenario)) == {"pydantic"}
    assert loaded(tmp_path, "example") <= {"pydantic"}


def test_runs_and_their_reports_load_frames_and_templates_only(tmp_path: Path) -> None:
    bundle.script()  # Put together once for all pages of this machine.
    scenario = str(written(tmp_path, SMALL))
    assert loaded(tmp_path, "run", scenario, "--out", "out", "--no-report") == {"pydantic"}
    assert loaded(tmp_path, "compare", "out", "out") == {"pydantic"}
    assert loaded(tmp_path, "run", scenario, "--out", "out2") == {"jinja2", "polars", "pydantic"}
    assert loaded(tmp_path, "report", "out") == {"jinja2", "polars", "pydantic"}


def test_a_small_file_is_mined_without_frames_and_checks_of_models(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("1 2\n1 2\n")
    assert loaded(tmp_path, "mine", "a.dat", "--support", "50%", "--longest", "3") == set()
    assert (tmp_path / "results/mine-a/itemsets.parquet").is_file()


def test_programs_of_hosts_start_without_frames_and_checks_of_models(tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("one\n")
    (tmp_path / "file").write_text("content")
    send = ["broadcast", "send", "file", "--to", "hosts.txt", "--rsh", HERE, "--incast", " ".join(INCAST)]
    assert loaded(tmp_path, *send, "--address", "127.0.0.1", "--dest", f"{tmp_path}/{{host}}") == set()
    run = ["farmem", "run", "--local", "1MB", "--latency", "1us", "--bandwidth", "10Gbps", "--", "true"]
    assert loaded(tmp_path, *run) == set()


def listed(group: typer.Typer) -> Iterator[tuple[str, typer.Typer]]:
    """Each command as it is listed: its summary, and the real one."""
    for command in group.registered_commands:
        assert command.cls is Lazy
        assert command.callback
        assert command.help
        yield command.help, command.callback()
    for each in group.registered_groups:
        assert each.typer_instance
        yield from listed(each.typer_instance)


def test_every_summary_is_the_commands_own() -> None:
    found = [(said, (get_command(real).help or "").partition("\n\n")[0]) for said, real in listed(app)]
    assert len(found) > 20
    assert [said for said, _ in found] == [" ".join(real.split()) for _, real in found]


def test_values_that_are_wrong_are_refused_in_typers_words() -> None:
    def said(*arguments: str) -> str:
        done = CliRunner().invoke(app, list(arguments), prog_name="incast")
        assert done.exit_code == 2
        return " ".join(done.output.split())

    assert "Invalid value for '--longest'" in said("mine", "a", "--support", "1", "--longest", "x")
    assert "Missing option '--support'" in said("mine", "a")
    assert "Invalid value for '--seed'" in said("run", "a.yaml", "--seed", "-1")


def test_the_version_is_the_packages() -> None:
    assert incast.__version__ == importlib.metadata.version("incast")


def test_completion_knows_commands_and_their_options() -> None:
    def completed(words: str) -> str:
        asked = {
            "_INCAST_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        return CliRunner().invoke(app, env=asked, prog_name="incast").output

    assert {"run", "reproduce", "report"} <= set(completed("incast r").split())
    assert "agent" in completed("incast broadcast ag").split()
    assert "--no-report" in completed("incast run --no").split()


@pytest.mark.parametrize("freedom", [1.0, 1.01, 2.0, 3.7, 4.0, 9.0, 29.5, 100.0, 9_998.0])
def test_students_t_is_scipys(freedom: float) -> None:
    assert math.isclose(student.quantile(freedom), special.stdtrit(freedom, 0.975), rel_tol=1e-9)


def test_extras_are_named_where_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with (
        pytest.raises(MissingLibraryError, match=r"^highspy is not installed: pip install 'incast\[plan\]'$"),
        extra("plan"),
    ):
        import highspy  # noqa: F401
    with pytest.raises(ModuleNotFoundError), extra("plan"):
        import incast.no_such_module  # type: ignore[import-not-found]  # noqa: F401


def without(library: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a command says where a library is not installed."""
    program = f"import sys; sys.modules[{library!r}] = None{MAIN}"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("library", "named", "command"),
    [
        ("highspy", "plan", "broadcast plan net.csv --source x --algorithm highest-aggregate"),
        ("scipy", "farmem", "farmem grid true"),
        ("vl_convert", "farmem", "farmem grid true"),
        ("jinja2", "study", "study run folder"),
        ("scipy", "study", "calibrate folder"),
        ("scipy", "matrix", "walk graph.npz"),
        ("watchfiles", "watch", "run a.yaml --watch"),
        ("prometheus_client", "metrics", "walk sbm:2,8,1,1 --servers 2 --metrics 127.0.0.1:0"),
    ],
)
def test_a_command_says_which_extra_it_lacks(tmp_path: Path, library: str, named: str, command: str) -> None:
    (tmp_path / "graph.npz").touch()
    (tmp_path / "a.yaml").touch()
    (tmp_path / "net.csv").write_text("a,b,rate\nx,y,1Gbps\nz,y,1Gbps\n")
    done = without(library, tmp_path, *command.split())
    assert done.stdout.splitlines()[-1].split()[0] == "2", done.stderr
    assert done.stderr == f"error: {library} is not installed: pip install 'incast[{named}]'\n"


def test_a_run_without_what_draws_says_so_and_is_good(tmp_path: Path) -> None:
    scenario = written(tmp_path, SMALL)
    done = without("jinja2", tmp_path, "run", str(scenario), "--out", "out")
    assert done.stdout.splitlines()[-1].split()[0] == "0", done.stderr
    assert (
        "No report: jinja2 is not installed: pip install 'incast[report]', then incast report out"
        in done.stderr
    )
    for library, command in (("jinja2", "report"), ("perfetto", "trace")):
        done = without(library, tmp_path, command, "out")
        assert done.stdout.splitlines()[-1].split()[0] == "2"
        assert done.stderr == f"error: {library} is not installed: pip install 'incast[{command}]'\n"
    assert not list((tmp_path / "out").glob(".*"))


def test_the_core_is_small_and_nothing_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(project["dependencies"]) <= 8
    extras = project["optional-dependencies"]
    said = [
        *project["dependencies"],
        *(each for name, listed in extras.items() if name != "ns3" for each in listed),
    ]
    assert [each for each in said if "==" in each.partition(";")[0]] == []


def test_what_make_installs_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    extras = project["optional-dependencies"]
    said = [
        *project["dependencies"],
        *(each for name in ("all", "test", *_extras(extras["all"])) for each in extras[name]),
    ]
    names = {re.split(r"[\[>=<;]", each)[0].lower() for each in said} - {"incast"}
    assert names <= lock.keys()


def _extras(said: list[str]) -> list[str]:
    """The names in `incast[one,two]`."""
    return [name for each in said for name in each.partition("[")[2].rstrip("]").split(",")]


FREED = """
import os
from pathlib import Path
from incast import polars_memory
before = dict(os.environ)
polars_memory.load()
assert dict(os.environ) == before
import polars as pl
def used():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
pl.arange(0, 1000, eager=True)
least = used()
numbers = pl.arange(0, 20_000_000, eager=True)
assert used() - least > 150_000_000
del numbers
print(used() - least)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_a_report_gives_memory_back_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20_000_000
