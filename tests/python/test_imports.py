"""Files of the package import each other without circles, in functions and for types too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

import incast

ROOT = Path(incast.__file__).parents[1]


def name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module) -> Iterator[str]:
    """What a file imports: modules, and names that may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{each.name}" for each in node.names)


def test_there_are_no_circles_of_imports() -> None:
    files = {name(file): file for file in ROOT.glob("incast/**/*.py")}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for module, file in files.items():
        for other in imported(ast.parse(file.read_text("utf-8"))):
            found = other if other in files else other.rpartition(".")[0]
            # The package itself only names where its parts are.
            if found in files and found not in (module, "incast"):
                graph.add_edge(module, found)
    circles = [each for each in nx.strongly_connected_components(graph) if len(each) > 1]
    assert not circles
