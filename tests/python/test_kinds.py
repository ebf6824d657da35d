"""Kinds of jobs: each says how it is judged, in one place that all others ask; base units come from types."""

from __future__ import annotations

import json
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from incast import kinds
from incast.choose import deciding
from incast.kinds import KINDS
from incast.kinds.job import Job, Site, Traits
from incast.lab.base import InCore, Model
from incast.lab.quantities import Depth, InBase, PositiveTime, Rate, Size, Span, Time
from incast.lab.scenario import Scenario
from incast.result import Result

DECIDES = {
    "bulk": "done",
    "incast": "done",
    "permutation": "done",
    "all-to-all": "done",
    "load": "fct_p99",
    "replay": "fct_p99",
    "coflows": "group",
    "background": "fct_p99",
    "rpc": "call_p99",
    "shuffle": "done",
    "walk": "done",
    "broadcast": "group",
    "mine": "done",
    "program": "read_p99",
    "farmem": "degradation",
}
WAYS = {
    "done": ("done_ps",),
    "fct_p99": ("flows", "fct_p99_ps"),
    "group": ("flows", "group_mean_ps"),
    "degradation": ("jobs", "a", "degradation_percent"),
    "call_p99": ("jobs", "a", "call_p99_ps"),
    "read_p99": ("jobs", "a", "read_p99_ps"),
}


@pytest.mark.parametrize(("kind", "figure"), DECIDES.items())
def test_each_kind_is_judged_by_one_figure(tmp_path: Path, kind: str, figure: str) -> None:
    """Those whose work is all there at the start by their end, mining too."""
    job = {"kind": kind, "duration_ps": 5, "degradation_percent": 1.0, "call_p99_ps": 2, "read_p99_ps": 6}
    flows = {"fct_p99_ps": 4, "group_mean_ps": 3}
    summary = {"seed": 1, "done_ps": 5, "jobs": {"a": job}, "flows": flows}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert deciding({"": [Result.open(tmp_path)]})[0] == WAYS[figure]


def test_a_kind_without_its_own_figure_is_judged_by_the_end(tmp_path: Path) -> None:
    summary = {"seed": 1, "done_ps": 5, "jobs": {"a": {"kind": "program"}}, "flows": {"fct_p99_ps": 4}}
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    assert deciding({"": [Result.open(tmp_path)]})[0] == WAYS["done"]


def test_every_kind_is_listed_and_judged() -> None:
    for module in pkgutil.walk_packages(kinds.__path__, "incast.kinds."):
        import_module(module.name)
    # Other tests here write kinds that are none.
    assert not [each for each in kinds.unlisted() if each.__module__.startswith("incast.")]
    assert set(KINDS) == set(DECIDES)


def test_a_kind_that_does_not_say_how_it_is_judged_is_none() -> None:
    with pytest.raises(TypeError, match="Rpc is a kind of job: it needs `traits` and `work`"):

        class Rpc(Job):
            kind: Literal["rpc"] = "rpc"

            def work(self, site: Site) -> dict[str, Any]:
                return {"at": site.folder, **self.settings()}


def test_a_kind_without_work_is_none() -> None:
    with pytest.raises(TypeError, match="Rpc is a kind of job: it needs `traits` and `work`"):

        class Rpc(Job):
            traits = Traits(judged="flows")

            kind: Literal["rpc"] = "rpc"


def test_a_kind_that_is_judged_by_its_own_figures_has_some() -> None:
    with pytest.raises(TypeError, match="Rpc is judged by its own figures: it needs `metrics`"):

        class Rpc(Job):
            traits = Traits(judged="own")

            kind: Literal["rpc"] = "rpc"

            def work(self, site: Site) -> dict[str, Any]:
                return {"at": site.folder, **self.settings()}


def test_the_package_does_not_import_with_a_kind_that_is_not_listed() -> None:
    code = """
import importlib
from incast import kinds
from incast.kinds.job import Job, Traits
class Rpc(Job):
    traits = Traits(judged="flows")
    kind: str = "rpc"
    def work(self, site):
        return {}
importlib.reload(kinds)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "kinds of jobs that incast.kinds doesn't list: Rpc" in done.stderr


Bytes = Annotated[Size, InCore("bytes")]


class Part(Model):
    after: Time = "2us"


class Whole(Model):
    rate: Rate = "1Mbps"
    size: Bytes = "1kB"
    depth: Depth = "3 packets"
    span: Span = ["1ns", "2ns"]
    never: PositiveTime | None = None
    ages: list[PositiveTime] = ["1ns", "3ns"]
    part: Part = Part()
    parts: list[Part] = [Part(after="1ns")]
    share: float = 0.5


def test_base_units_come_from_types() -> None:
    assert Whole().base_units() == {
        "rate": 1_000_000,
        "bytes": 1_000,
        "depth": {"packets": 3},
        "span": {"uniform": [1_000, 2_000]},
        "never": None,
        "ages": [1_000, 3_000],
        "part": {"after": 2_000_000},
        "parts": [{"after": 1_000}],
        "share": 0.5,
    }


def test_a_quantity_in_two_forms_has_to_say_how_it_is_read() -> None:
    class Either(Model):
        what: Time | Depth = "1us"

    with pytest.raises(TypeError, match=r"Either\.what: its type takes quantities in several forms"):
        Either().base_units()


def test_no_model_of_a_scenario_hands_text_with_a_unit_to_the_core() -> None:
    """Every model's fields are understood, and what has a parser is no text afterwards."""
    found = [kind for kind in _below(Model) if kind.__module__.startswith(("incast.kinds", "incast.lab"))]
    assert Scenario in found
    for model in found:
        needed = {name for name, field in model.model_fields.items() if field.is_required()}
        if needed - {"kind", "name"} or isabstract(model):
            continue
        said = model.model_validate(dict.fromkeys(needed, "x")).base_units()
        for name, field in model.model_fields.items():
            if any(isinstance(note, InBase) for note in field.metadata):
                called = next((note.name for note in field.metadata if isinstance(note, InCore)), name)
                assert not isinstance(said[called], str), (model, name)


def _below(model: type[Model]) -> list[type[Model]]:
    return [each for kind in model.__subclasses__() for each in (kind, *_below(kind))]


PACKAGE = Path(kinds.__file__).parents[1]
CLASHES = {
    "background": ("report/vega.py", "study/page/svg.py"),  # a colour
    "broadcast": ("broadcast/", "cli/__init__.py", "cli/app.py"),
    "farmem": ("farmem/", "cli/app.py", "cli/farmem_grid.py"),
    "incast": (  # the package, the program, its cache
        "broadcast/shell.py", "cli/app.py", "cli/emu.py", "cli/validate.py", "emu/kernel.py", "extras.py",
        "lab/graphread.py", "new.py", "report/bundle.py", "study/page/drawing.py", "view/answers.py",
    ),
    **dict.fromkeys(("rpc", "shuffle", "all-to-all", "permutation"), ("new.py",)),  # answers to its question
    "load": ("new.py", "report/page.html.j2", "study/__init__.py"),  # of a port; to read
    "mine": ("__init__.py", "cli/app.py", "mining/"),
    "program": (  # on remote memory; an argument; the operator adds a job of this kind
        "cli/broadcast_plan.py", "cli/farmem_allocate.py", "emu/operator.py", "farmem/predict.py", "report/paging.py",
    ),
    "walk": ("__init__.py", "cli/app.py", "walks/", "report/walk_page.py"),
}  # fmt: skip
"""Where a word in quotes is no kind of job: a part of the package in itself, a command, something else."""


def _quoted() -> set[tuple[str, str]]:
    """Each word in quotes outside of `incast.kinds` that is a kind's name too, and the file."""
    named = re.compile(rf"([\"'])({'|'.join(KINDS)})\1")
    files = [(file.relative_to(PACKAGE).as_posix(), file) for file in PACKAGE.rglob("*.*")]
    return {
        (word, name)
        for name, file in files
        if file.suffix in (".py", ".j2", ".js") and not name.startswith("kinds/")
        for _, word in named.findall(file.read_text("utf-8"))
    }


def test_no_other_module_names_a_kind() -> None:
    found = [(word, name) for word, name in _quoted() if not name.startswith(CLASHES.get(word, ()))]
    assert not found, "ask incast.kinds instead"


def test_the_words_that_clash_are_still_there() -> None:
    found = _quoted()
    for word, places in CLASHES.items():
        for place in places:
            assert any(each == word and name.startswith(place) for each, name in found), (word, place)
