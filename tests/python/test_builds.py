"""Debug and release builds give the same results, byte for byte."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from incast import _core

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "crates/scenario/tests/it/determinism.json"


def debug_build() -> Path:
    """The debug build of the program that runs a resolved scenario.

    Of the whole workspace, as `make test` builds it: alone it would have other features, and be built again.
    """
    compiler = os.environ.get("TESTS_BY", "rustc")
    subprocess.run(
        ["cargo", "build", "-q", "--release", "--locked", "--workspace", "--example", "run"],
        cwd=ROOT,
        env={**os.environ, "RUSTC_WORKSPACE_WRAPPER": str(ROOT / f"packaging/{compiler}-for-tests")},
        check=True,
    )
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/examples/run"


def files(folder: Path) -> dict[str, bytes]:
    """All that a run wrote, by path."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_debug_and_release_write_the_same_bytes(tmp_path: Path) -> None:
    _core.run(_core.check(SCENARIO.read_text()), str(tmp_path / "release"), False, lambda _: True, 1)
    subprocess.run([debug_build(), SCENARIO, tmp_path / "debug"], check=True, capture_output=True)
    release, debug = files(tmp_path / "release"), files(tmp_path / "debug")
    assert release.keys() == debug.keys()
    assert [name for name in release if release[name] != debug[name]] == []
