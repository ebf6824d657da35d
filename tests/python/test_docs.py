"""The manual can't rot: its commands are run, its scenarios validated, its links followed.

Blocks of a page are one session in a folder of its own, in which `examples/` is the repository's:

- `console`: lines after `$ ` are run, the others are what they print; a line `…` is any text. `incast` itself
  is called in this process, where what follows `|` or `>` gets its output
- `yaml NAME` (or csv, python…): the file of this name in the repository where there is one, otherwise written
  to the session's folder
- `yaml` without a name: fields that could be in the scenario shown before, or in `incast example`'s
- `python`: run; `text output` after it is what it prints. `python optional` is left out where a module lacks
- `console slow`: only with UPDATE_GOLDEN=1
- `sh`, `text`, `rust`, `json`, `sql`: shown only

UPDATE_GOLDEN=1 writes what was printed into the pages, where no `…` stands. A fingerprint stands for any.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from incast import _core, schema
from incast.cli import show
from incast.cli.app import app
from incast.document import merge, read_text
from incast.folder import TABLES
from incast.lab.scenario import Scenario
from incast.variants import make_variants
from incast.written import WrittenScenario

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
REPORTS = {DOCS / "benchmarks.md", *(DOCS / "validation").rglob("*.md")}
RUN = [page for page in PAGES if "```" in page.read_text("utf-8") and page not in REPORTS]
SHOWN_ONLY = {"sh", "text", "rust", "json", "sql"}
_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_PROGRESS = re.compile(r"^\S+: [\d.]+ %.*\n", re.MULTILINE)
"""A line every ten seconds: on a fast machine there is none."""
_INCAST = re.compile(r"incast (?P<arguments>[^|;&]*?)(?P<rest>[|>][^;&]*)?")
_UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@dataclass
class Session:
    """A page's folder, and what its blocks have left there."""

    folder: Path
    scenario: Path | None = None
    names: dict[str, Any] = field(default_factory=dict)
    printed: str | None = ""

    code: int = 0

    def __post_init__(self) -> None:
        shutil.copytree(ROOT / "examples", self.folder / "examples")

    def run(self, info: str, body: str) -> str:
        """The block as it has to be."""
        language, _, file = info.partition(" ")
        if language == "console":
            return body if file == "slow" and not _UPDATE else self._console(body)
        if language == "text" and file == "output":
            return body if self.printed is None else expected(body, self.printed)
        if language in SHOWN_ONLY:
            return body
        if language == "python" and file in ("", "optional"):
            self._python(body, optional=bool(file))
            return body
        if file:
            return self._file(file, body, language)
        if language == "yaml":
            self._fragment(body)
        else:
            raise AssertionError(f"nobody checks blocks of {language!r}")
        return body

    def _console(self, body: str) -> str:
        parts = re.split(r"^\$ (.*)\n", body, flags=re.MULTILINE)
        assert not parts[0], "a console block begins with a command"
        done = ""
        for command, output in zip(parts[1::2], parts[2::2], strict=True):
            done += f"$ {command}\n{expected(output, self._shell(command))}"
        return done

    def _shell(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.code}\n"
        found = _INCAST.fullmatch(command)
        if not found:
            return self._bash(command)
        with contextlib.chdir(self.folder):
            done = CliRunner().invoke(app, shlex.split(found["arguments"]))
        self.code = done.exit_code
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        if not found["rest"]:
            return _PROGRESS.sub("", done.output)
        return _PROGRESS.sub("", done.stderr) + self._bash(f"cat {found['rest']}", done.stdout)

    def _bash(self, command: str, given: str = "") -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=240,
        )
        self.code = done.returncode
        return done.stdout

    def _file(self, file: str, body: str, language: str) -> str:
        place = self.folder / file
        if (ROOT / file).is_file():
            body = (ROOT / file).read_text("utf-8")
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(body, "utf-8")
        if language == "yaml":
            self.scenario = place
        elif language == "python":
            self._python(body)
        return body

    def _fragment(self, body: str) -> None:
        if self.scenario is None:
            self.scenario = self.folder / "starter.yaml"
            shutil.copy(ROOT / "python" / "incast" / "starter.yaml", self.scenario)
        over = read_text(body)
        if over.value is None:
            return
        source = WrittenScenario.from_file(self.scenario)
        document = merge(source.document, over)
        make_variants(WrittenScenario(document, source.folder, source.text))

    def _python(self, body: str, optional: bool = False) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.chdir(self.folder), warnings.catch_warnings():
            # A result without a folder of its own lives as long as its variable; the folder goes with it.
            warnings.simplefilter("ignore", ResourceWarning)
            try:
                exec(compile(body, "page", "exec"), self.names)
            except ModuleNotFoundError:
                if not optional:
                    raise
                self.printed = None
                return
        self.printed = out.getvalue()


def expected(shown: str, printed: str) -> str:
    """What a page shows where it is right, otherwise what it has to show."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    actual = "".join(f"{line}\n" for line in lines)
    wanted = "".join(_wanted(line) for line in shown.splitlines())
    if re.fullmatch(wanted, actual):
        return shown
    assert "…" not in shown.splitlines(), f"the page shows\n{shown}\nbut it is\n{actual}"
    return actual


def _wanted(line: str) -> str:
    """What a line of a page stands for: a fingerprint, which changes with any event, for any."""
    if line == "…":
        return "(?:.*\n)*"
    if line.startswith("Fingerprint: "):
        return "Fingerprint: [0-9a-f]{16}\n"
    return re.escape(line) + "\n"


@pytest.mark.parametrize("page", RUN, ids=name)
def test_what_a_page_shows_is_so(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for console in ("out", "err"):
        monkeypatch.setattr(show, console, Console(width=110, stderr=console == "err"))
    session = Session(tmp_path / "session")
    text = page.read_text("utf-8")
    done = _BLOCK.sub(lambda b: f"```{b['info']}\n{session.run(b['info'], b['body'])}```", text)
    if _UPDATE and done != text:
        page.write_text(done, "utf-8")
    elif done != text:
        assert done.splitlines() == text.splitlines(), "UPDATE_GOLDEN=1 writes the page again"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(_BLOCK.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{name(page)} links to {target}"
        if anchor:
            assert anchor in anchors(there), f"{name(page)} links to {target}"


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    headings = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    plain = ("".join(c for c in heading.lower() if c.isalnum() or c in " -_") for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


def test_generated_parts_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_reference_leaves_nothing_out() -> None:
    pages = {page.stem: page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md")}
    for table in TABLES:
        assert f"<!-- generated: table {table} -->" in pages["results"]
    scenario = pages["scenario"]
    for model, each in schema.models(Scenario)["$defs"].items():
        kind = each["properties"].get("kind", {}).get("const")
        override = "x-partial" in each
        assert override or f"generated: model {model} " in scenario or f"`kind: {kind}`" in scenario, model


def test_every_command_is_in_the_reference() -> None:
    text = (DOCS / "reference" / "command-line.md").read_text("utf-8")
    groups = [("", app), *((f"{each.name}-", each.typer_instance) for each in app.registered_groups)]
    for prefix, group in groups:
        assert group
        for command in group.registered_commands:
            known = command.name or command.callback.__name__  # type: ignore[union-attr]
            assert f"<!-- generated: command {prefix}{known} -->" in text


def test_units_are_what_the_core_reads() -> None:
    text = (DOCS / "reference" / "units.md").read_text("utf-8")
    parse = {"Rate": _core.parse_rate, "Time": _core.parse_time, "Size": _core.parse_bytes}
    superscripts = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
    for section in text.split("\n## ")[1:]:
        of = parse.get(section.split("\n", 1)[0])
        for units, value in re.findall(r"^\| (`.*`) \| ([^|]*) \|$", section, re.MULTILINE):
            assert of
            factor = 1
            for part in value.split(" · "):
                power = re.fullmatch(r"(10|2)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", part)
                factor *= int(power[1]) ** int(power[2].translate(superscripts)) if power else int(part)
            for unit in re.findall(r"`([^`]+)`", units):
                assert of(f"1{unit}") == factor, unit


def test_the_manual_lists_every_example() -> None:
    text = (DOCS / "README.md").read_text("utf-8")
    for file in (ROOT / "examples").iterdir():
        data = file.suffix in (".csv", ".txt") or file.name.endswith(".clab.yml")
        assert data or f"(../examples/{file.name})" in text, file.name
