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
LEAST = (6, 12)
TOOLS = {"gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils"}

_RANDOM = """ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	return getrandom(buf, len, flags);
}
"""
# The only source of chance: a sequence (SplitMix64) that follows from a seed (by FNV-1a), if one is given.
_SEEDED = """ssize_t os_getrandom(void *buf, size_t len, unsigned int flags)
{
	static unsigned long long state = 0xcbf29ce484222325ULL;
	static int begun;
	const char *seed = getenv("INCAST_SEED");
	unsigned char *to = buf;
	size_t at;

	if (!seed)
		return getrandom(buf, len, flags);
	if (!begun)
		for (; *seed; seed++)
			state = (state ^ (unsigned char)*seed) * 0x100000001b3ULL;
	begun = 1;
	for (at = 0; at < len; at++) {
		unsigned long long z = (state += 0x9e3779b97f4a7c15ULL);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
		to[at] = z ^ (z >> 31);
	}
	return len;
}
"""

_ON_TIME = """{
	if (time_travel_mode == TT_MODE_EXTERNAL && time_travel_ext_request(ns))
"""
# A host whose processor is busy goes on later than it has asked for. The words say that it can.
_LATE = """{
	static const char late[] __used = "time travel: may go on late";

	if (ns < time_travel_time)
		ns = time_travel_time;
	if (time_travel_mode == TT_MODE_EXTERNAL && time_travel_ext_request(ns))
"""

# A program that computes without entering the kernel may wait for another thread of its own, which gets no
# processor while no time passes. When such a stretch has taken two alarms of its processor time, a
# millisecond passes: the next tick. Shorter stretches are left alone, so that what they do can be had again.
_BEGUN = """	kill(os_getpid(), SIGSTOP);
	return 0;
}
"""
_ALARM = """	if (time_travel_mode == TT_MODE_EXTERNAL) {
		struct itimerval alarm = {{ 0, 250000 }, { 0, 250000 }};

		setitimer(ITIMER_VIRTUAL, &alarm, NULL);
	}
"""
_INCLUDED = "#include <timetravel.h>\n"
_DECLARED = "#include <sys/time.h>\nvoid time_travel_ndelay(unsigned long nsec);\n"
_STOPS = "#define STUB_SIG_MASK ((1 << SIGALRM) | (1 << SIGWINCH))"
_STOPS_TOO = "#define STUB_SIG_MASK ((1 << SIGALRM) | (1 << SIGWINCH) | (1 << SIGVTALRM))"
_BEGINS = "} while (WIFSTOPPED(status) && (WSTOPSIG(status) == SIGALRM));"
_BEGINS_TOO = (
    "} while (WIFSTOPPED(status) && (WSTOPSIG(status) == SIGALRM || WSTOPSIG(status) == SIGVTALRM));"
)
_SEEN = """			int sig = WSTOPSIG(status);

"""
_COUNTED = """			static int alarms;

			alarms = sig == SIGVTALRM ? alarms + 1 : 0;
			if (alarms >= 2)
				time_travel_ndelay(1000000);

"""
_ALRM = """			case SIGALRM:
				break;
"""
_VTALRM = """			case SIGALRM:
			case SIGVTALRM:
				break;
"""


def main(program: Path, tree: str | None) -> None:
    """Builds it, unless it is there."""
    if program.is_file():
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
    # A millisecond a tick, as servers have; and chance that can be had again.
    _replace(
        tree / "arch/um/Kconfig", "config HZ\n\tint\n\tdefault 100\n", "config HZ\n\tint\n\tdefault 1000\n"
    )
    _replace(tree / "arch/um/os-Linux/util.c", _RANDOM, _SEEDED)
    clock = tree / "arch/um/kernel/time.c"
    _replace(clock, _ON_TIME, _LATE)
    _replace(clock, "BUG_ON(time_travel_time != e->time)", "BUG_ON(time_travel_time < e->time)")
    programs = tree / "arch/um/os-Linux/skas/process.c"
    _replace(programs, _BEGUN, _ALARM + _BEGUN)
    _replace(programs, _STOPS, _STOPS_TOO)
    _replace(programs, _BEGINS, _BEGINS_TOO)
    _replace(programs, _SEEN, _SEEN + _COUNTED)
    _replace(programs, _ALRM, _VTALRM)
    _replace(programs, _INCLUDED, _INCLUDED + _DECLARED)
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


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    if old not in text:
        raise SystemExit(f"{file}: not as known; this kernel is too new for packaging/uml.py")
    file.write_text(text.replace(old, new))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 and sys.argv[2] else None)
