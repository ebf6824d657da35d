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
# A host whose processor is busy goes on later than it has asked for.
_LATE = """{
	if (ns < time_travel_time)
		ns = time_travel_time;
	if (time_travel_mode == TT_MODE_EXTERNAL && time_travel_ext_request(ns))
"""

# It may go on late, and early: when it is called for a queue while an earlier call is not yet dealt with.
_FIRST = """		if (e == time_travel_first_event()) {
			BUG_ON(!time_travel_del_event(e));
			BUG_ON(time_travel_time != e->time);
"""
_FIRST_DUE = """		if (e == time_travel_first_event() && time_travel_time >= e->time) {
			BUG_ON(!time_travel_del_event(e));
"""

# What a network card and its kernel tell each other stands in the page of the clock, and takes no message:
# the queues that the card calls for, when the kernel goes on; and the queues that the kernel has filled, when
# it waits, if its calendar lets it say so as late as that. The words tell that a kernel can.
_WENT_ON = """	/* we might request more stuff while polling - reset when we run */
	time_travel_ext_prev_request_valid = false;
}
"""
_IS_CALLED = """	/* we might request more stuff while polling - reset when we run */
	time_travel_ext_prev_request_valid = false;

	if (time_travel_shm && time_travel_called) {
		u32 queues = *time_travel_word(time_travel_shm_id, 0);

		*time_travel_word(time_travel_shm_id, 0) = 0;
		if (queues)
			time_travel_called(queues);
	}
}

bool time_travel_kick(unsigned int queue);
bool time_travel_kick(unsigned int queue)
{
	static const char words[] __used = "time travel: queues in the page";
	u64 *free_until;

	if (!time_travel_shm || !*time_travel_word(0, 0))
		return false;
	*time_travel_word(time_travel_shm_id, 1) |= 1U << queue;
	/* what happens at this nanosecond may, and then it waits */
	free_until = &time_travel_shm->free_until;
	*free_until = min(*free_until, time_travel_shm->current_time + 1);
	return true;
}
"""
_WAITS = "static void time_travel_ext_wait(bool idle)\n"
_HAS_WORDS = """void (*time_travel_called)(u32 queues);

static u32 *time_travel_word(unsigned int client, unsigned int at)
{
	return (u32 *)(time_travel_shm->clients[client].reserve + 64) + at;
}

"""
_CARD = "static irqreturn_t vu_req_interrupt(int irq, void *data)\n"
_CALLS = """extern void (*time_travel_called)(u32 queues);
bool time_travel_kick(unsigned int queue);

static struct virtio_uml_device *vu_card;

static void vu_card_interrupt(struct time_travel_event *ev)
{
	generic_handle_irq(vu_card->irq);
}

static struct time_travel_event vu_card_event = { .fn = vu_card_interrupt };

static void vu_card_called(u32 queues)
{
	vu_card->vq_irq_vq_map |= queues;
	time_travel_add_irq_event(&vu_card_event);
}

"""
_HAS_IRQ = "	vu_dev->irq = rc;\n"
_HAS_CARD = "	vu_card = vu_dev;\n	time_travel_called = vu_card_called;\n"
_KICKS = "	time_travel_propagate_time();\n\n	if (info->kick_fd < 0) {\n"
_KICKS_PAGE = (
    "	time_travel_propagate_time();\n\n	if (time_travel_kick(vq->index))\n		return true;\n\n"
)

# A program that computes without a system call may wait for another thread of its own, which gets no
# processor while no time passes. When such a stretch has taken two alarms of its processor time, a
# millisecond passes with each: the next tick. Shorter stretches are left alone, so that what they do can be
# had again; after many, nobody is there to be waited for, and time stands still until patience ends.
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
_COUNTED = """			if (sig == SIGTRAP + 0x80)
				alarms = 0;
			if (sig == SIGVTALRM && ++alarms >= 2 && alarms <= 80)
				time_travel_ndelay(1000000);

"""
_LOCALS = "	int err, status, op, pid = userspace_pid[0];\n"
_LOCALS_TOO = "	int err, status, op, alarms = 0, pid = userspace_pid[0];\n"
_ALRM = """			case SIGALRM:
				break;
"""
_VTALRM = """			case SIGALRM:
			case SIGVTALRM:
				break;
"""


def main(program: Path, tree: str | None) -> None:
    """Builds it, unless it is there and no older than this script."""
    if program.is_file() and program.stat().st_mtime > Path(__file__).stat().st_mtime:
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
    _replace(clock, _FIRST, _FIRST_DUE)
    _replace(clock, _WENT_ON, _IS_CALLED)
    _replace(clock, _WAITS, _HAS_WORDS + _WAITS)
    card = tree / "arch/um/drivers/virtio_uml.c"
    _replace(card, _CARD, _CALLS + _CARD)
    _replace(card, _HAS_IRQ, _HAS_IRQ + _HAS_CARD)
    _replace(card, _KICKS, _KICKS_PAGE + "	if (info->kick_fd < 0) {\n")
    programs = tree / "arch/um/os-Linux/skas/process.c"
    _replace(programs, _BEGUN, _ALARM + _BEGUN)
    _replace(programs, _STOPS, _STOPS_TOO)
    _replace(programs, _BEGINS, _BEGINS_TOO)
    _replace(programs, _LOCALS, _LOCALS_TOO)
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
