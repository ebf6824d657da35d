"""Finds or builds ns-3 and compiles the driver program against it.

Two builds are used, because neither serves both purposes:

- `optimised`: ns-3 3.37 from the source package of the Linux distribution (Debian, Ubuntu), compiled
  with -O3 and without asserts and logs. It is the fastest ns-3 that a package registry leads to, so the
  benchmarks measure against it. It takes some ten minutes of CPU once and lies in `.bench-cache/`.
- `wheel`: ns-3 3.44 from PyPI, which brings headers and libraries compiled with asserts and logs. It is
  the newest, and its CUBIC has the Reno-friendly region that RFC 9438 asks for, so the differential
  tests take it; where the source package can't be had, the benchmarks do too and say so.

As a program: `python -m testkit.ns3.build [optimised|wheel]` builds and prints the driver's path.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".bench-cache" / "ns3"
DRIVER = Path(__file__).with_name("driver.cc")
WHEEL = "ns3==3.44.post0"
MODULES = ("internet", "point-to-point", "traffic-control", "network", "core", "bridge", "stats")


class UnavailableError(Exception):
    """ns-3 can't be had here; the message says why."""


@dataclass(frozen=True)
class Ns3:
    """A compiled driver and the ns-3 it is linked with."""

    driver: Path
    name: str


def optimised(*, install: bool = True) -> Ns3:
    """The driver with ns-3 3.37, -O3, no asserts, no logs."""
    out = CACHE / "optimised" / "out"
    library = out / "lib" / "libns3.37-monolib.so"
    if not library.exists():
        if not install:
            raise UnavailableError("no optimised ns-3 in .bench-cache: `python -m testkit.ns3.build`")
        build_source(fetch_source(), out)
    flags = ["-std=c++17", "-O3", "-DNDEBUG", f"-I{out}/include"]
    libraries = [f"-L{out}/lib", f"-Wl,-rpath,{out}/lib", "-lns3.37-monolib"]
    driver = compile_driver("optimised", flags, libraries)
    return Ns3(driver, "ns-3 3.37, built -O3 without asserts and logs from the source package")


def wheel(*, install: bool = True) -> Ns3:
    """The driver with ns-3 3.44 of the PyPI wheel."""
    home = installed_wheel()
    if home is None:
        home = CACHE / "wheel" / "ns3"
        if not (home / "lib64").exists():
            if not install:
                raise UnavailableError(f"ns-3 is not installed: `pip install {WHEEL}`")
            fetch_wheel(home.parent)
    # The wheel's headers hold asserts and logs, and so must the driver.
    flags = ["-std=c++20", "-O3", "-DNS3_ASSERT_ENABLE", "-DNS3_LOG_ENABLE"]
    flags += ["-DNS3_CALLBACKS_BY_REFERENCE", f"-I{home}/include"]
    libraries = [f"-L{home}/lib64", f"-Wl,-rpath,{home}/lib64", "-Wl,--allow-shlib-undefined"]
    libraries += [f"-lns3.44-{module}" for module in MODULES]
    return Ns3(compile_driver("wheel", flags, libraries), "ns-3 3.44, PyPI wheel, asserts on")


def best() -> Ns3:
    """The fastest ns-3 that can be had here."""
    try:
        return optimised()
    except UnavailableError as reason:
        print(f"no optimised ns-3: {reason}", file=sys.stderr)
        return wheel()


def compile_driver(kind: str, flags: list[str], libraries: list[str]) -> Path:
    """Compiles the driver unless this text was compiled with these flags before."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        raise UnavailableError(f"the driver program needs the C++ compiler {compiler}")
    sources = sorted([DRIVER, *DRIVER.parent.glob("*.h")])
    text = (
        b"".join(source.read_bytes() for source in sources)
        + " ".join([compiler, *flags, *libraries]).encode()
    )
    driver = CACHE / f"driver-{kind}-{hashlib.sha256(text).hexdigest()[:12]}"
    if not driver.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = driver.with_name(f"{driver.name}.{os.getpid()}")
        run([compiler, *flags, str(DRIVER), "-o", str(part), *libraries])
        part.rename(driver)
    return driver


def installed_wheel() -> Path | None:
    """Where pip has put the wheel."""
    spec = importlib.util.find_spec("ns3")
    if spec is None or not spec.submodule_search_locations:
        return None
    home = Path(next(iter(spec.submodule_search_locations)))
    return home if (home / "lib64").exists() else None


def fetch_wheel(to: Path) -> None:
    """Unpacks the wheel; its copy of Boost is not needed."""
    to.mkdir(parents=True, exist_ok=True)
    run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(to), WHEEL])
    (archive,) = to.glob("ns3-*.whl")
    with zipfile.ZipFile(archive) as z:
        z.extractall(to, [n for n in z.namelist() if not n.startswith("ns3/include/boost/")])
    archive.unlink()


def fetch_source() -> Path:
    """The source tree of the distribution's package, without touching the system's own apt lists."""
    if shutil.which("apt-get") is None:
        raise UnavailableError("the source package needs apt-get")
    home = CACHE / "optimised"
    if found := list(home.glob("ns-allinone-3.37/ns-3.37")):
        return found[0]
    lists = home / "apt"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    sources = home / "sources.list"
    sources.write_text(source_lines())
    options = ["-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=-"]
    options += ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={lists}"]
    run(["apt-get", "-q", *options, "update"])
    run(["apt-get", "-q", *options, "source", "--download-only", "ns3=3.37-2"], cwd=home)
    run(["tar", "-xjf", "ns3_3.37.orig.tar.bz2", "ns-allinone-3.37/ns-3.37"], cwd=home)
    return home / "ns-allinone-3.37" / "ns-3.37"


def source_lines() -> str:
    """deb-src lines for the places that this machine already takes its packages from."""
    form = "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)"
    targets = run(["apt-get", "indextargets", "--format", form, "Identifier: Packages"])
    if not targets:
        raise UnavailableError("apt-get names no place that packages come from")
    return "\n".join(dict.fromkeys(targets.splitlines())) + "\n"


def build_source(source: Path, out: Path) -> None:
    """Compiles the modules that the driver needs into one library."""
    if shutil.which("cmake") is None:
        raise UnavailableError("the source package needs cmake")
    off = ["PYTHON_BINDINGS", "VISUALIZER", "GSL", "GTK3", "SQLITE", "EMU", "TAP", "MPI"]
    off += ["EXAMPLES", "TESTS", "ASSERT", "LOG", "WARNINGS", "WARNINGS_AS_ERRORS"]
    build = out.with_name("build")
    command = ["cmake", "-S", str(source), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release"]
    command += ["-DCMAKE_CXX_FLAGS_RELEASE=-O3 -DNDEBUG", f"-DNS3_OUTPUT_DIRECTORY={out}"]
    command += ["-DNS3_ENABLED_MODULES=core;network;internet;point-to-point;traffic-control"]
    command += ["-DNS3_MONOLIB=ON", *(f"-DNS3_{name}=OFF" for name in off)]
    run(command)
    run(["cmake", "--build", str(build), "--target", "ns3.37-monolib", "-j", str(os.cpu_count() or 1)])


def run(command: list[str], cwd: Path | None = None) -> str:
    """Runs a step; what it said is the reason where it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        end = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise UnavailableError(f"`{' '.join(command[:4])} …` failed:\n{end}")
    return done.stdout


if __name__ == "__main__":
    choice = {"optimised": optimised, "wheel": wheel}[sys.argv[1] if sys.argv[1:] else "optimised"]
    print(choice().driver)
