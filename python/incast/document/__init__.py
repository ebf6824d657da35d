"""A scenario as a person wrote it: YAML with the line of every value, merged before it is checked."""

from incast.document.change import change
from incast.document.merge import assign, lay_over, merge
from incast.document.node import Loc, Mark, Node, dotted
from incast.document.yaml import dump, read_file, read_text, text_of

__all__ = [
    "Loc",
    "Mark",
    "Node",
    "assign",
    "change",
    "dotted",
    "dump",
    "lay_over",
    "merge",
    "read_file",
    "read_text",
    "text_of",
]
