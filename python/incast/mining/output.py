"""The folder that a mined result is written to."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from incast.folder import MINE_MARKER, SUMMARY, mark, taken, whole, write_json
from incast.mining.passes import KEPT_PASSES
from incast.mining.result import MineResult
from incast.recording import is_free, remove

FORMATS = ("parquet", "csv", "json")
RECORDED = ("passes", "passes_series")
"""Tables of nodes, as they were recorded."""
_TABLES = ("itemsets", "rules")


def check_free(folder: Path, force: bool) -> None:
    """Refuses a folder that holds something, unless it is such a result and may be overwritten."""
    # Passes that an interrupted run had finished are there to be gone on with; a killed one leaves tables.
    parts = (f".{name}.{form}.tmp" for name in _TABLES for form in FORMATS)
    if is_free(folder, KEPT_PASSES, *parts):
        return
    if not force or not (folder / MINE_MARKER).is_file():
        raise taken(folder, MINE_MARKER)


def write(result: MineResult, folder: Path, form: str) -> dict[str, Any]:
    """Itemsets, rules where they were asked for, and the summary, which is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in _TABLES if name == "itemsets" or result.found_rules is not None]
    with ExitStack() as parts:
        # Nothing is a result, or replaces an earlier one, until all tables are written.
        for name in names:
            _write(result, name, parts.enter_context(whole(folder / f"{name}.{form}")), form)
        mark(folder, MINE_MARKER)
        (folder / SUMMARY).unlink(missing_ok=True)
        for name in _TABLES:
            for other in FORMATS:
                (folder / f"{name}.{other}").unlink(missing_ok=True)
    for name in RECORDED:
        remove(folder, name)
    content = summary(result)
    write_json(folder / SUMMARY, content)
    (folder / KEPT_PASSES).unlink(missing_ok=True)
    return content


def summary(result: MineResult) -> dict[str, Any]:
    """What was asked for and found."""
    rules = result.found_rules
    return {
        "transactions": result.transactions,
        "support": result.request.support,
        "minimum_count": result.minimum,
        "confidence": result.request.confidence,
        "longest": result.request.longest,
        "only": result.request.kind,
        "itemsets": result.kept.len(),
        "rules": None if rules is None else rules.len(),
        "passes": result.passes,
        **({} if result.spread is None else {"nodes": result.spread.summary()}),
    }


def _write(result: MineResult, name: str, file: Path, form: str) -> None:
    if form == "json":
        frame = result.itemsets if name == "itemsets" else result.rules
        frame.write_json(file)
        return
    # The core writes it: frames take longer to load than most files to mine.
    names = None if result.names is None else [str(each) for each in result.names]
    core = result.kept if name == "itemsets" else result.found_rules
    assert core is not None
    (core.parquet if form == "parquet" else core.csv)(file, names)
