"""YAML read by the core schema of YAML 1.2, with the line of every value.

Unlike YAML 1.1: only `true` and `false` are booleans (`on`, `no`, `yes` are text), `1e3` is a number,
`010` is ten. Mapping keys are text, and a key that is there twice is refused. Source: YAML 1.2.2, 10.3.2.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import yaml
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from incast.bounded import read_bytes
from incast.document.node import Mark, Node, Scalar, Value
from incast.errors import Problem, ScenarioError

FILE_BYTES_MAX = 8_000_000
_DEPTH_MAX = 40
_VALUES_MAX = 1_000_000

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LINE_ENDS = "\x85\u2028\u2029"
"""Ends of lines in YAML 1.1, not in 1.2."""
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}


def _unquoted(text: str) -> Scalar:
    """What `text` means without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > 40:  # no number of ours; int() of a huge text is slow
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text) or _HEX.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Quotes what would be read as a number, a word or the end of a line: PyYAML's own goes by YAML 1.1."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> ScalarNode:
    style = None if isinstance(_unquoted(text), str) else "'"
    if any(end in text for end in _LINE_ENDS):
        style = '"'  # which writes them as escapes
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump(value: object, width: int = 80) -> str:
    """`value` as a document that `read_text` reads back."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=width)


def read_file(path: Path) -> Node:
    """The document in the file."""
    return read_text(text_of(path), str(path))


def text_of(path: Path) -> str:
    """The text of the file, which has to be short."""
    try:
        data = read_bytes(path, FILE_BYTES_MAX)
        return data.decode("utf-8")
    except OSError as error:
        raise ScenarioError([Problem(f"can't read it: {error.strerror}", file=str(path))]) from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ScenarioError([Problem(f"not UTF-8 text: {error.reason}", file=str(path), line=line)]) from None


def read_text(text: str, file: str = "", line: bool = True) -> Node:
    """The document in `text`; `file` names it in messages, with lines where `line`."""
    try:
        _refuse_deep(text, file)
        root = yaml.compose(text, _LOADER)
    except yaml.MarkedYAMLError as error:
        raise ScenarioError([_syntax(error, file)]) from None
    except UnicodeEncodeError:  # Bytes of an argument that are no text are halves of pairs here.
        raise ScenarioError([Problem("not UTF-8 text", file=file)]) from None
    except yaml.YAMLError as error:
        raise ScenarioError([Problem(f"not YAML: {error}".replace("\n", " "), file=file)]) from None
    if root is None:
        return Node(None, Mark(file, 1 if line else None))
    return _Reader(file, line).read(root)


def _refuse_deep(text: str, file: str) -> None:
    """Stops before nesting that would exhaust the stack."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEPTH_MAX:
                line = event.start_mark.line + 1 if event.start_mark else None
                raise ScenarioError([Problem(f"nested more than {_DEPTH_MAX} deep", file=file, line=line)])
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _syntax(error: yaml.MarkedYAMLError, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    message = ": ".join(part for part in (error.context, error.problem) if part)
    if "alias" in message:
        message += " (a text that begins with * or & is put in quotes)"
    return Problem(f"not YAML: {message}", file=file, line=mark.line + 1 if mark else None)


def _is_core(tag: str) -> bool:
    """Whether it is a tag that YAML gives to plain values by itself."""
    own = tag.removeprefix("tag:yaml.org,2002:")
    return own != tag and own not in ("binary", "omap", "pairs", "set") and "/" not in own


class _Reader:
    """Turns composed YAML nodes into ours."""

    def __init__(self, file: str, line: bool) -> None:
        self.file = file
        self.line = line
        self.count = 0
        self.known: dict[int, tuple[Value, int]] = {}
        """What was read already, for aliases: the value, and how many values it unfolds to."""

    def read(self, node: yaml.Node, mark: Mark | None = None, depth: int = 0) -> Node:
        mark = mark or self._mark(node)
        if not _is_core(node.tag):
            raise self._error(node, f"{node.tag} is a tag, which means nothing here: write the plain value")
        if id(node) in self.known:
            value, size = self.known[id(node)]
            self.count += size
        else:
            before = self.count
            self.count += 1
            value = self._value(node, depth)
            self.known[id(node)] = value, self.count - before
        if self.count > _VALUES_MAX:
            raise self._error(node, f"unfolds to more than {_VALUES_MAX} values")
        return Node(value, mark)

    def _value(self, node: yaml.Node, depth: int) -> Value:
        if depth > _DEPTH_MAX:
            raise self._error(node, "an alias contains itself")
        if isinstance(node, MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, SequenceNode):
            return [self.read(item, depth=depth + 1) for item in node.value]
        assert isinstance(node, ScalarNode)
        return self._scalar(node)

    def _mapping(self, node: MappingNode, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                raise self._error(key, "a field's name is text, not a list or mapping")
            if key.value in entries:
                first = entries[key.value].mark.line
                raise self._error(
                    key, f"{key.value!r} is there twice" + (f", first in line {first}" if first else "")
                )
            entries[key.value] = self.read(value, self._mark(key), depth + 1)
        return entries

    def _scalar(self, node: ScalarNode) -> Scalar:
        text: str = node.value
        return text if node.style else _unquoted(text)  # Quoted or block: text.

    def _mark(self, node: yaml.Node) -> Mark:
        return Mark(self.file, node.start_mark.line + 1 if self.line else None)

    def _error(self, node: yaml.Node, message: str) -> ScenarioError:
        mark = self._mark(node)
        return ScenarioError([Problem(message, file=mark.file, line=mark.line)])
