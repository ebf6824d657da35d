"""The view in a notebook: the page's own modules, and answers over the notebook's channel."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import anywidget

from incast.errors import IncastError, why
from incast.view.answers import Answers, WrongError
from incast.view.run import UnknownError

_IMPORT = re.compile(
    r'^import (?:\{ (?P<names>[^}]*) \}|\* as (?P<all>\w+)) from "\./(?P<file>\w+)\.js";$', re.M
)
_EXPORT = re.compile(r"^export (?P<what>const|class) (?P<name>\w+)", re.M)
_START = """
export default {
  render({ model, el }) {
    const waiting = new Map();
    let asked = 0;
    model.on("msg:custom", ({ number, problem, json }, buffers) => {
      const [done, failed] = waiting.get(number) ?? [];
      waiting.delete(number);
      if (problem) failed?.(new Error(problem));
      else done?.(buffers.length ? new Float32Array(buffers[0].buffer.slice(buffers[0].byteOffset)) : json);
    });
    const ask = (what, said = {}) => new Promise((done, failed) => {
      asked += 1;
      waiting.set(asked, [done, failed]);
      model.send({ number: asked, what, said });
    });
    const state = { now: new URLSearchParams() };
    const address = { read: () => state.now, write: (next) => { state.now = next; }, changed: () => {} };
    const root = document.createElement("div");
    root.classList.add("notebook");
    el.append(root);
    const view = of_view().start(root, { json: ask, array: ask }, address);
    return () => view.stop();
  },
};
"""


def _static(name: str) -> str:
    return files("incast.view").joinpath("static", name).read_text("utf-8")


def _script() -> str:
    """The page's modules as one, which is what a notebook loads: each is a function that is called once."""
    parts = [_static("uPlot.iife.min.js")]
    _append("view", parts, set())
    return "\n".join((*parts, _START))


def _append(name: str, parts: list[str], done: set[str]) -> None:
    """Appends a module after those that it imports."""
    if name in done:
        return
    done.add(name)
    text = _static(f"{name}.js")
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


class View(anywidget.AnyWidget):
    """Runs played back in a notebook: what `incast view` shows on its page."""

    _esm = _script()
    _css = _static("uPlot.min.css") + _static("view.css")

    def __init__(self, roots: Sequence[Path]) -> None:
        """Shows the runs in these folders."""
        self._answers = Answers(roots)
        super().__init__()
        self.on_msg(self._asked)

    def _asked(self, _: View, content: dict[str, Any], __: list[bytes]) -> None:
        reply: dict[str, Any] = {"number": content.get("number")}
        try:
            said = {str(name): str(value) for name, value in dict(content.get("said") or {}).items()}
            answer = self._answers.ask(str(content.get("what")), said)
        except (WrongError, UnknownError) as error:
            self.send({**reply, "problem": str(error)})
        except (IncastError, OSError) as error:
            self.send({**reply, "problem": why(error)})
        else:
            if answer.is_json:
                self.send({**reply, "json": json.loads(answer.body)})
            else:
                self.send(reply, [answer.body])
