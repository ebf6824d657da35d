"""The modules of JavaScript in `static/` as one script, for notebooks and reports: these load no files."""

from __future__ import annotations

import re
from importlib.resources import files

_IMPORT = re.compile(
    r'^import (?:\{ (?P<names>[^}]*) \}|\* as (?P<all>\w+)) from "\./(?P<file>\w+)\.js";$', re.M
)
_EXPORT = re.compile(r"^export (?P<what>const|class) (?P<name>\w+)", re.M)


def static(name: str) -> str:
    """A file of the page."""
    return files("incast.view").joinpath("static", name).read_text("utf-8")


def joined(name: str) -> str:
    """A module and what it imports: each is a function that is called once, this one's is `of_<name>`."""
    parts: list[str] = []
    _append(name, parts, set())
    return "\n".join(parts)


def _append(name: str, parts: list[str], done: set[str]) -> None:
    """Appends a module after those that it imports."""
    if name in done:
        return
    done.add(name)
    text = static(f"{name}.js")
    for found in _IMPORT.finditer(text):
        _append(found["file"], parts, done)
    body = _IMPORT.sub(_bound, text)
    body = _EXPORT.sub(r"\g<what> \g<name>", body)
    exported = ", ".join(found["name"] for found in _EXPORT.finditer(text))
    parts.append(f"const of_{name} = (() => {{ let made; return () => (made ??= (() => {{\n{body}\n")
    parts.append(f"return {{ {exported} }}; }})()); }})();")


def _bound(found: re.Match[str]) -> str:
    """The names of an import, from the function that makes the module."""
    return f"const {found['all'] or '{ ' + found['names'] + ' }'} = of_{found['file']}();"
