"""Transactions from text as FIMI has it: a transaction a line, items as numbers; plain, gzip or zstd."""

from __future__ import annotations

import codecs
import gzip
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from incast import _core
from incast.errors import why
from incast.mining.request import refuse

PIECE = 1 << 18
"""Bytes of text that the core takes at a time: they stay in a cache."""
GZIP, ZSTD = ".gz", ".zst"


def opened(file: Path, mode: str, raw: IO[bytes]) -> Any:
    """A file's text, as its name says that it is compressed."""
    if file.suffix == GZIP:
        return gzip.GzipFile(fileobj=raw, mode=mode, mtime=0)
    if file.suffix == ZSTD:
        return _zstd().ZstdFile(raw, mode)
    return raw


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd  # type: ignore[no-redef,unused-ignore]
    return zstd


def read(
    file: Path, core: _core.MineTransactions, begin: Callable[[int], None], more: Callable[[int], None]
) -> None:
    """All transactions to `core`; `begin` hears how large the file is, `more` how many bytes were read."""
    try:
        with file.open("rb", buffering=0 if file.suffix not in (GZIP, ZSTD) else PIECE) as raw:
            begin(file.stat().st_size)
            stream = opened(file, "rb", raw)
            mark = codecs.BOM_UTF8
            while piece := stream.read(PIECE):
                core.feed(piece.removeprefix(mark))
                mark = b""
                if raw.seekable():  # A pipe does not say how far it is.
                    more(raw.tell())
            core.finish()
    except _core.MineTextError as error:
        line, message = error.args
        refuse(message, file=file, line=line)
    except FileNotFoundError:
        refuse("there is no such file", file=file)
    except EOFError:
        refuse("the compressed file ends too early", file=file)
    except (OSError, zlib.error, ValueError) as error:
        refuse(why(error), file=file)
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        refuse(str(error), file=file)
