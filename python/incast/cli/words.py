"""Text in a bar, as it is: no markup, and nothing that a terminal would act on."""

from __future__ import annotations

from rich.progress import ProgressColumn, Task
from rich.text import Text

from incast.cli.plain import plain


class Words(ProgressColumn):
    """`template` has `{task}`: rich's `TextColumn` without its own reading of brackets."""

    def __init__(self, template: str) -> None:
        super().__init__()
        self._template = template

    def render(self, task: Task) -> Text:
        """What the template says of the task."""
        return Text(plain(self._template.format(task=task)))
