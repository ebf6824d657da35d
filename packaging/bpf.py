"""Builds congestion controls as BPF programs (crates/emu/bpf), for hosts of a real clock.

Usage: bpf.py FOLDER. FOLDER is where the package looks for them. The running kernel describes its own types
(BTF), so its source is not needed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "crates/emu/bpf"
TYPES = Path("/sys/kernel/btf/vmlinux")
HEADER = Path("/usr/include/bpf/bpf_core_read.h")
TOOLS = {"clang": "clang", "llvm-strip": "llvm", "bpftool": "bpftool"}
# Debian's bpftool is where only root looks.
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


def lacking() -> str:
    """What stands in the way of a build here, with the way out; empty where nothing does."""
    if not TYPES.is_file():
        return f"this kernel does not describe its types: there is no {TYPES} (CONFIG_DEBUG_INFO_BTF)"
    missing = {package for tool, package in TOOLS.items() if not shutil.which(tool, path=PATH)}
    if not HEADER.is_file():
        missing.add("libbpf-dev")
    if missing:
        return f"For congestion controls in BPF these are needed: apt-get install {' '.join(sorted(missing))}"
    return ""


def main(folder: Path) -> None:
    """Builds all of them; those that are there are replaced, since the kernel may be another one."""
    if why := lacking():
        raise SystemExit(why)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder) as room:
        types = Path(room) / "vmlinux.h"
        types.write_bytes(_run("bpftool", "btf", "dump", "file", TYPES, "format", "c"))
        for source in sorted(SOURCES.glob("*.bpf.c")):
            built = Path(room) / source.with_suffix(".o").name
            options = ("-O2", "-g", "-Wall", "-Werror", "-target", "bpf", f"-I{room}")
            _run("clang", *options, "-c", source, "-o", built)
            _run("llvm-strip", "--strip-debug", built)
            print(f"{built.rename(folder / built.name)}: built of {source.name}")


def _run(tool: str, *arguments: str | Path) -> bytes:
    program = shutil.which(tool, path=PATH)
    assert program, tool
    done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"{tool} failed with exit code {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
