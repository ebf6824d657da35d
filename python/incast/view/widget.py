"""The view in a notebook: the page's own modules, and answers over the notebook's channel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget

from incast.errors import IncastError, why
from incast.view.answers import Answers, WrongError
from incast.view.modules import joined, static
from incast.view.run import UnknownError

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


class View(anywidget.AnyWidget):
    """Runs played back in a notebook: what `incast view` shows on its page."""

    _esm = "\n".join((static("uPlot.iife.min.js"), joined("view"), _START))
    _css = static("uPlot.min.css") + static("view.css")

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
