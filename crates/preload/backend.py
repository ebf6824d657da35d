"""Builds the package: maturin, after the library that farmem loads into programs (PEP 517, PEP 660).

maturin makes one library a package. The other one is not for Python: cargo builds it, and it lies in the
package as a file. So do the examples in a wheel. Called as a program, this module builds that library only.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable", "build_sdist", "build_wheel",
    "get_requires_for_build_editable", "get_requires_for_build_sdist", "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable", "prepare_metadata_for_build_wheel",
]  # fmt: skip

_ROOT = Path(__file__).resolve().parents[2]
_NAME = "libincast_preload.so"


def build_wheel(*arguments: Any, **options: Any) -> str:
    """As PEP 517."""
    _preload()
    with _examples():
        return str(maturin.build_wheel(*arguments, **options))


def build_editable(*arguments: Any, **options: Any) -> str:
    """As PEP 660."""
    _preload()
    return str(maturin.build_editable(*arguments, **options))


@contextmanager
def _examples() -> Iterator[None]:
    """Has the examples in the package, since maturin packs no others; a clone has them at its root."""
    to = _ROOT / "python" / "incast" / "shipped"
    shutil.copytree(_ROOT / "examples", to, ignore=shutil.ignore_patterns("*.py"), dirs_exist_ok=True)
    try:
        yield
    finally:
        shutil.rmtree(to)


def _preload() -> None:
    if sys.platform != "linux":
        return
    cargo = os.environ.get("CARGO", "cargo")
    subprocess.run(
        [cargo, "build", "--release", "--locked", "--package", "incast-preload"], cwd=_ROOT, check=True
    )
    told = subprocess.run(
        [cargo, "metadata", "--format-version=1", "--no-deps", "--locked"],
        cwd=_ROOT,
        check=True,
        capture_output=True,
    )
    built = Path(json.loads(told.stdout)["target_directory"]) / "release" / _NAME
    to = _ROOT / "python" / "incast" / "farmem" / _NAME
    # A program may have the old one mapped: it keeps that.
    shutil.copyfile(built, to.with_suffix(".new"))
    to.with_suffix(".new").replace(to)


if __name__ == "__main__":
    _preload()
