"""Synthetic transactions of Quest (crates/mine/src/quest) into a file, block by block."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from incast import _core
from incast.errors import OutputError
from incast.folder import free, named
from incast.mining import text
from incast.mining.request import refuse

TABLES = (".parquet", ".csv", ".json", ".arrow", ".feather")
"""Names of what this is not."""


@dataclass(frozen=True, slots=True)
class Quest:
    """What the data is to look like; by default as the examples of Agrawal and Srikant 1994."""

    transactions: int = 100_000
    """|D|."""
    length: float = 10.0
    """|T|: mean items of a transaction."""
    pattern: float = 4.0
    """|I|: mean items of a pattern."""
    patterns: int = 2000
    """|L|."""
    items: int = 1000
    """N."""
    correlation: float = 0.5
    """Mean share of a pattern's items that are the previous one's too."""
    confidence: float = 0.5
    """One less the mean corruption level."""
    deviation: float = 0.1**0.5
    """Of the corruption level; the paper has its square."""
    seed: int = 1


_WHOLE = {
    "transactions": (1, 2**64 - 1),
    "patterns": (1, 2**32 - 1),
    "items": (1, 2**32 - 1),
    "seed": (0, 2**64 - 1),
}
"""What the core's whole numbers hold; it refuses more."""

LIKE = {
    "vldb94": Quest(),
    "t10i4d100k": Quest(correlation=0.25, confidence=0.75, deviation=0.1),
    "hpa-table2": Quest(
        transactions=1_000_000,
        length=20.0,
        patterns=5000,
        items=5000,
        correlation=0.25,
        confidence=0.75,
        deviation=0.1,
        seed=7,
    ),
}
"""Data like that of the paper's own examples, of FIMI's file, and of the document's Table 2: there 0.7 % of
10,000,000 transactions make 1,023 items and 32 pairs large; with this seed 1,022 and 30 of 1,000,000."""


def like(name: str, **changes: Any) -> Quest:
    """A named one, with some fields changed; none is left as it is."""
    if name not in LIKE:
        refuse(f"{name!r}: {', '.join(LIKE)} are allowed", "--like")
    return replace(LIKE[name], **{field: value for field, value in changes.items() if value is not None})


def generate(
    quest: Quest,
    file: Path,
    *,
    threads: int = 1,
    force: bool = False,
    more: Callable[[int, int], None] = lambda _, __: None,
) -> None:
    """Writes the file, whole or not at all; `more` is told of blocks that are done, of all."""
    if threads < 1:
        refuse(f"{threads} threads: at least 1 is allowed", "--threads")
    _check_name(file)
    place = free(file, force)
    given = {field.name: getattr(quest, field.name) for field in fields(quest)}
    try:
        core = _core.QuestGenerator(**given)
    except _core.QuestFieldError as error:
        field, wrong = error.args
        # Scenarios of mining, and so the core, call the number of transactions their count.
        name = "transactions" if field == "count" else field
        refuse(f"{given[name]:g}: {wrong}", f"--{name}")
    except OverflowError:
        name = next(name for name, (least, most) in _WHOLE.items() if not least <= given[name] <= most)
        least, most = _WHOLE[name]
        refuse(f"{given[name]}: {least} to {most} is allowed", f"--{name}")
    if not file.parent.is_dir():
        raise OutputError(f"{file.parent} is no folder: make it before, or choose another")
    part = place.with_name(f".{place.name}.tmp{place.suffix}")
    try:
        with ExitStack() as stack:
            stack.enter_context(named(file))
            raw = stack.enter_context(part.open("wb"))
            stream = text.opened(part, "wb", raw)
            if stream is not raw:
                stack.enter_context(stream)
            for done, block in enumerate(_blocks(core, threads), 1):
                stream.write(block)
                more(done, core.blocks())
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def _check_name(file: Path) -> None:
    """Refuses a name that says something else than lines of text."""
    kind = Path(file.stem).suffix if file.suffix in (text.GZIP, text.ZSTD) else file.suffix
    if kind.lower() in TABLES or file.name == "-":
        raise OutputError(f"{file}: it will be text, a transaction per line; choose a name like quest.txt.gz")


def _blocks(core: _core.QuestGenerator, threads: int) -> Iterator[bytes]:
    """In order; some are made ahead, so that memory stays small."""
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[bytes]] = deque()
        try:
            for number in range(core.blocks()):
                ahead.append(pool.submit(core.text, number))
                if len(ahead) > 2 * threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
