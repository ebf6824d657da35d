"""What pages of incast share: templates, style, scripts and data in one file that needs no network."""

import base64
import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from incast.report import bundle
from incast.report.charts import DASHES, Chart
from incast.report.parts import Figure
from incast.view.modules import joined


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Compiled templates, as far as they can be kept: compiling is a tenth of a small page's time."""

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Keeps one."""
        with suppress(OSError):
            bundle.cache_folder().mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


class Book:
    """Numbers the charts of a page and collects what they draw."""

    def __init__(self) -> None:
        self.charts: list[dict[str, Any]] = []

    def add(self, figure: Figure) -> tuple[Figure, list[tuple[int, str]]]:
        """The figure with (number, heading) of each of its charts."""
        return figure, [(self._number(chart), heading) for heading, chart in figure.charts]

    def _number(self, chart: Chart) -> int:
        self.charts.append({"spec": chart.spec, "columns": chart.columns})
        return len(self.charts) - 1


def page(
    template: str,
    context: dict[str, Any],
    data: dict[str, Any],
    nets: Sequence[Any] = (),
    scripts: tuple[str, ...] = (),
    styles: tuple[str, ...] = (),
) -> str:
    """A template filled.

    `data` is what the scripts draw from, with the charts under `charts`; the view's modules draw `nets`.
    `scripts` and `styles` are files that this page has beyond those of all pages.
    """
    own = [resource(name) for name in ("page.js", *scripts)]
    own += [joined("totals"), resource("network.js")] if nets else []
    library, packed = ([bundle.script()], [("library", bundle.packed())]) if data["charts"] else ([], [])
    drawn = {"data": _json(data)} | ({"nets": _json(nets)} if nets else {})
    embedded = {
        "scripts": [Markup(s) for s in own],  # no foreign text
        "packed": [*packed, *((name, bundle.pack(content)) for name, content in drawn.items())],
        "policy": " ".join(f"'sha256-{_digest(each)}'" for each in (*library, *own)),
        "style": Markup("".join(resource(name) for name in ("style.css", *styles))),
        "dashes": [" ".join(map(str, d)) for d in DASHES],
    }
    return _environment().get_template(template).render(context | embedded)


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _json(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_Compiled(str(bundle.cache_folder())),
    )
    environment.filters["breakable"] = _breakable
    return environment


def _breakable(name: str) -> Markup:
    """A dotted name, or a path, that breaks between its parts on narrow screens."""
    broken = Markup(".<wbr>").join(name.split("."))
    return Markup("/<wbr>").join(broken.split("/")) if "/" in name else broken


def resource(name: str) -> str:
    """The text of a file next to this one."""
    return files("incast.report").joinpath(name).read_text(encoding="utf-8")
