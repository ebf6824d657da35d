"""Builds Linux as a program (user-mode Linux), the kernel of emulated hosts.

Usage: uml.py PROGRAM [TREE]. TREE is a kernel's source, 6.12 or newer: a folder, or a tar file as Debian's
package linux-source-6.12 has it, which is also what is looked for without one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CONFIG = Path(__file__).with_name("uml.config")
PATCH = Path(__file__).with_name("uml.patch")
LEAST = (6, 12)
TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "xz": "xz-utils",
}


def main(program: Path, tree: str | None) -> None:
    """Builds it, unless it is there and newer than what it is built by."""
    made_by = max(file.stat().st_mtime for file in (Path(__file__), CONFIG, PATCH))
    if program.is_file() and program.stat().st_mtime > made_by:
        print(f"{program} is there already")
        return
    missing = sorted(package for tool, package in TOOLS.items() if not shutil.which(tool))
    source = Path(tree) if tree else next(iter(sorted(Path("/usr/src").glob("linux-source-*.tar.*"))), None)
    if source is None:
        missing.append("linux-source-6.12")
    if missing:
        raise SystemExit(
            f"For the kernel of emulated hosts these are needed: apt-get install {' '.join(missing)}"
        )
    assert source is not None
    with tempfile.TemporaryDirectory(prefix="uml-", dir=_room()) as folder:
        built = _build(_tree(source, Path(folder)), Path(folder) / "build")
        program.parent.mkdir(parents=True, exist_ok=True)
        part = program.with_suffix(".part")
        shutil.copy(built, part)
        part.rename(program)
    print(f"{program}: built of {source}")


def _room() -> Path:
    room = Path("target")
    room.mkdir(exist_ok=True)
    return room


def _tree(source: Path, folder: Path) -> Path:
    """A copy of the source that may be changed."""
    if not source.exists():
        raise SystemExit(f"{source}: there is no kernel's source")
    if source.is_dir():
        return Path(shutil.copytree(source, folder / "tree", symlinks=True))
    subprocess.run(["tar", "--extract", "--file", source, "--directory", folder], check=True)
    [tree] = [each for each in folder.iterdir() if each.is_dir()]
    return tree


def _build(tree: Path, build: Path) -> Path:
    version = re.search(r"^VERSION = (\d+)\nPATCHLEVEL = (\d+)", (tree / "Makefile").read_text(), re.M)
    if not version or tuple(map(int, version.groups())) < LEAST:
        raise SystemExit("a kernel of 6.12 or newer is needed: earlier ones share no clock in memory")
    # Lines of a newer kernel may have moved.
    patch = ["patch", "--strip=1", "--force", "--quiet", f"--directory={tree}", f"--input={PATCH.resolve()}"]
    if subprocess.run(patch, check=False).returncode:
        raise SystemExit(f"{tree}: not as known; this kernel is too new for {PATCH}")
    make = ["make", "--silent", f"--directory={tree}", "ARCH=um", f"O={build.resolve()}"]
    quiet = {**os.environ, "KCONFIG_ALLCONFIG": str(CONFIG.resolve())}
    subprocess.run([*make, "allnoconfig"], env=quiet, check=True, stdout=subprocess.DEVNULL)
    lines = (build / ".config").read_text().splitlines()
    lost = [line for line in CONFIG.read_text().splitlines() if line.endswith("=y") and line not in lines]
    if lost:
        raise SystemExit(f"this kernel lacks {', '.join(lost)}")
    print("Building Linux for emulated hosts: some three minutes on two cores", flush=True)
    subprocess.run([*make, f"-j{os.cpu_count()}", "linux"], check=True, stdout=subprocess.DEVNULL)
    return build / "linux"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] else None)
