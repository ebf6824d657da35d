"""Builds Linux as a program (user-mode Linux), the kernel of emulated hosts.

Usage: uml.py PROGRAM [TREE]. TREE is a kernel's source, 6.12 or newer: a folder, or a tar file as Debian's
packages linux-source-6.12 and newer have it; without one, the newest of them that is installed.
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
PATCHES = {name: Path(__file__).with_name(f"{name}.patch") for name in ("uml", "uml-ptrace", "uml-seccomp")}
LEAST = (6, 12)
BUILD = {
    "KBUILD_BUILD_USER": "incast",
    "KBUILD_BUILD_HOST": "incast",
    "KBUILD_BUILD_TIMESTAMP": "2026-01-01",
    "KBUILD_BUILD_VERSION": "1",
}
"""What a kernel says of its own build, and mixes into its random numbers: the same on all machines."""
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
    """Builds it, unless it is there, of the newest source and newer than what it is built by."""
    source = Path(tree) if tree else _newest()
    made_by = max(file.stat().st_mtime for file in (Path(__file__), CONFIG, *PATCHES.values()))
    if not tree and program.is_file() and program.stat().st_mtime > made_by and _is_of(program, source):
        print(f"{program} is there already")
        return
    missing = sorted(package for tool, package in TOOLS.items() if not shutil.which(tool))
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


def _newest() -> Path | None:
    found = Path("/usr/src").glob("linux-source-*.tar.*")
    return max(found, key=lambda file: [int(part) for part in re.findall(r"\d+", file.name)], default=None)


def _is_of(program: Path, source: Path | None) -> bool:
    version = re.search(r"\d+\.\d+", source.name) if source else None
    return not version or f"Linux version {version[0]}.".encode() in program.read_bytes()


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
    number = tuple(map(int, version.groups())) if version else (0, 0)
    if number < LEAST:
        raise SystemExit("a kernel of 6.12 or newer is needed: earlier ones share no clock in memory")
    seccomp = "using_seccomp" in (tree / "arch/um/os-Linux/skas/process.c").read_text()
    for name in ("uml", "uml-seccomp" if seccomp else "uml-ptrace"):
        # Lines of a newer kernel may have moved.
        file = PATCHES[name].resolve()
        patch = ["patch", "--strip=1", "--force", "--quiet", f"--directory={tree}", f"--input={file}"]
        if subprocess.run(patch, check=False).returncode:
            raise SystemExit(f"{tree}: not as known; {file} fits 6.12 and 7.3, and perhaps others")
    make = ["make", "--silent", f"--directory={tree}", "ARCH=um", f"O={build.resolve()}"]
    environment = {**os.environ, **BUILD, "KCONFIG_ALLCONFIG": str(CONFIG.resolve())}
    subprocess.run([*make, "allnoconfig"], env=environment, check=True, stdout=subprocess.DEVNULL)
    lines = (build / ".config").read_text().splitlines()
    lost = [line for line in CONFIG.read_text().splitlines() if line.endswith("=y") and line not in lines]
    if lost:
        raise SystemExit(f"this kernel lacks {', '.join(lost)}")
    print(f"Building Linux {number[0]}.{number[1]} for emulated hosts: minutes on two cores", flush=True)
    if not seccomp:
        print("A newer one would take some 70 % of the processor time: docs/how-to/emulate.md", flush=True)
    linux = [*make, f"-j{os.cpu_count()}", "linux"]
    subprocess.run(linux, env=environment, check=True, stdout=subprocess.DEVNULL)
    return build / "linux"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] else None)
