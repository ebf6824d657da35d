"""Each way to anonymous memory is governed, or what is not is said: programs of others, and a program of all ways."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from farmem_programs import compiled, remote_memory_or_skip
from incast.farmem.run import Memory, Outcome, run

WAYS = Path(__file__).parent / "farmem_ways.c"
STACKS = Path(__file__).parent / "farmem_stacks.c"
FORKS = Path(__file__).parent / "farmem_forks.c"
FAR = ["--latency", "1us", "--bandwidth", "100Gbps"]
MB = 1_000_000
# Programs wait for two seconds in the end: what is seen of their memory is weighted with time, and on a busy
# machine their start alone takes some tenths of one.


@pytest.fixture(autouse=True, scope="module")
def _allowed() -> None:
    remote_memory_or_skip()


def memory(local: int, page: int = 4096) -> Memory:
    return Memory(local, 1_000_000, 100 * 10**9, page)


def said(command: list[str], with_: Memory, to: Path) -> tuple[Outcome, str]:
    """What a program comes to, and prints."""
    with (to / "said").open("wb") as log:
        outcome = run(command, with_, log=log)
    return outcome, (to / "said").read_text()


def plain(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def needed(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"there is no {name} here")
    return found


def json_of(*arguments: str) -> dict[str, object]:
    command = [sys.executable, "-m", "incast", "farmem", "run", *FAR, "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stderr.splitlines()[-1])
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("page", [4096, 65536])
def test_memory_holds_what_was_written_however_it_was_asked_for(page: int, tmp_path: Path) -> None:
    program = str(compiled(WAYS.read_text(), tmp_path / "ways"))
    outcome, output = said([program], memory(5 * MB, page), tmp_path)
    assert output == plain([program])
    assert outcome.exit_code == 0
    # All but shared memory and initialised static data are governed; what is looked at was sent away.
    assert outcome.faults * page > 20 * MB
    assert outcome.touched_bytes >= 15 * 400 * 4096


@pytest.mark.parametrize(("local", "page"), [(3 * MB, 4096), (6 * MB, 65536)])
def test_code_may_run_on_stacks_in_remote_memory(local: int, page: int, tmp_path: Path) -> None:
    program = str(compiled(STACKS.read_text(), tmp_path / "stacks"))
    outcome, output = said([program, "10"], memory(local, page), tmp_path)
    assert output == plain([program, "10"])
    assert outcome.exit_code == 0
    assert outcome.processes == 11  # A child a turn.
    assert outcome.faults * page > 50 * MB


RESERVES = """
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    char *all = mmap(NULL, 8L << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *more = mmap(NULL, 4L << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mprotect(all + (1L << 30), 32L << 20, PROT_READ | PROT_WRITE);
    for (int turn = 0; turn < 3; turn++)
        for (long at = 0; at < 32L << 20; at += 4096) all[(1L << 30) + at] = more[at * 64] = (char)(at >> 12);
    for (int turn = 0; turn < 100; turn++) usleep(20000);
    munmap(all, 8L << 30);
    return more[4096 * 64] != 1;
}
"""


def test_a_share_is_of_what_was_touched_and_not_of_what_was_reserved(tmp_path: Path) -> None:
    program = compiled(RESERVES, tmp_path / "reserves")
    found = json_of("--local", "50%", "--", str(program))
    # 8.6 GB reserved, and a half of them asked for without a promise; 67 MB touched.
    assert found["touched_bytes"] == pytest.approx(64 << 20, rel=0.02)
    assert found["local_bytes"] == pytest.approx(32 << 20, rel=0.02)
    assert isinstance(found["faults"], int)
    assert found["faults"] > 3 * 8000
    assert found["covers"] is True


GIVES_BACK = """
#include <string.h>
#include <sys/mman.h>
int main(void) {
    for (int turn = 1; turn <= 8; turn++) {
        char *at = mmap(NULL, turn << 22, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(at, 1, turn << 22);
        munmap(at, turn << 22);
    }
    return 0;
}
"""


def test_what_was_given_back_was_in_use(tmp_path: Path) -> None:
    program = compiled(GIVES_BACK, tmp_path / "gives-back")
    outcome, _ = said([str(program)], memory(1 << 40), tmp_path)
    assert outcome.touched_bytes == pytest.approx(8 << 22, rel=0.05)
    outcome, _ = said([str(program)], memory(1 << 20), tmp_path)
    assert outcome.touched_bytes == pytest.approx(8 << 22, rel=0.05)


RAW = """
#include <stdio.h>
#include <unistd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
static char *raw(long bytes) {
    register long r10 __asm__("r10") = MAP_PRIVATE | MAP_ANONYMOUS, r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
    long at;
    __asm__ volatile("syscall" : "=a"(at) : "a"(SYS_mmap), "D"(0), "S"(bytes), "d"(3), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return (char *)at;
}
int main(void) {
    memset(raw(40 << 20), 1, 40 << 20);
    for (int turn = 0; turn < 100; turn++) usleep(20000);
    return 0;
}
"""


def test_memory_asked_for_by_an_instruction_is_counted_as_not_governed(tmp_path: Path) -> None:
    if subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip() != "x86_64":
        pytest.skip("the instruction is of another processor")
    program = str(compiled(RAW, tmp_path / "raw"))
    outcome, _ = said([program], memory(4 * MB), tmp_path)
    assert outcome.coverage
    assert outcome.coverage.others_bytes["anonymous"] >= 40 << 20
    assert (outcome.coverage.share or 0) > 0.8
    command = [sys.executable, "-m", "incast", "farmem", "run", *FAR, "--local", "4MB", "--", program]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert shown.startswith("This does not cover the program: ")
    assert "other anonymous memory 4" in shown
    assert "all of it fitted" not in shown


ONE_WAY = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char bss[40 << 20];
int main(int count, char **arguments) {
    int how = atoi(arguments[1]);
    void *at = how & (MAP_FIXED | MAP_FIXED_NOREPLACE) ? (void *)0x200000000000 : NULL;
    char *memory = how ? mmap(at, sizeof bss, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | how, -1, 0) : bss;
    if (memory == MAP_FAILED) return 1;
    for (int turn = 1; turn < 4; turn++) {
        for (long at = 0; at < sizeof bss; at += 4096)
            if (memory[at + at % 4093] != turn - 1) return 2; else memory[at + at % 4093] = turn;
    }
    for (int turn = 0; turn < 100; turn++) usleep(20000);
    return 0;
}
"""
PRIVATE, MAP_FIXED, MAP_STACK, MAP_FIXED_NOREPLACE = mmap.MAP_PRIVATE, 0x10, 0x20000, 0x100000


@pytest.mark.parametrize(
    "how",
    [0, PRIVATE | MAP_STACK, PRIVATE | MAP_FIXED, PRIVATE | MAP_FIXED_NOREPLACE],
    ids=["bss", "stack", "fixed", "fixed-noreplace"],
)
@pytest.mark.parametrize("local", [4 * MB, 100 * MB], ids=["remote", "fits"])
def test_static_data_stacks_and_fixed_mappings_are_governed(how: int, local: int, tmp_path: Path) -> None:
    program = str(compiled(ONE_WAY, tmp_path / "one-way"))
    outcome, _ = said([program, str(how)], memory(local), tmp_path)
    assert outcome.exit_code == 0
    assert outcome.coverage
    assert outcome.coverage.covers
    assert outcome.touched_bytes == pytest.approx(40 << 20, rel=0.05)
    assert outcome.faults >= 2 * 10_000 * (local == 4 * MB)


def library(source: str, to: Path, *options: str) -> Path:
    """A library in C; its folder is where programs that are linked with it look."""
    subprocess.run(
        [needed("cc"), "-O1", "-shared", "-fPIC", *options, "-x", "c", "-", "-o", to],
        input=source,
        text=True,
        check=True,
    )
    return to


@pytest.mark.parametrize("local", [2 * MB, 100 * MB], ids=["remote", "fits"])
@pytest.mark.parametrize(
    "way", ["fork", "_Fork", "by-number", "clone-by-number", "clone3-by-number", "clone", "sbrk"]
)
def test_a_child_has_the_memory_whichever_way_it_is_made(way: str, local: int, tmp_path: Path) -> None:
    program = str(compiled(FORKS.read_text(), tmp_path / "forks"))
    outcome, output = said([program, way], memory(local), tmp_path)
    assert (outcome.exit_code, output) == (0, "done\n")
    # Each process counts its own faults.
    assert outcome.processes == (local == 2 * MB) * (13 if way == "sbrk" else 3)


def test_what_a_library_does_in_a_child_sees_the_memory(tmp_path: Path) -> None:
    # The library begins before this one, and so would its handler.
    source = FORKS.read_text()
    its = library(source, tmp_path / "libforks.so", "-DLIBRARY")
    program = tmp_path / "forks"
    command = [needed("cc"), "-O1", "-x", "c", "-", "-x", "none", "-Wl,--no-as-needed", str(its)]
    subprocess.run([*command, "-o", program], input=source, text=True, check=True)
    outcome, output = said([str(program), "fork"], memory(2 * MB), tmp_path)
    assert (outcome.exit_code, output) == (0, "done\n")


FREES = """
#include <stdlib.h>
void *taken(void) { return malloc(100); }
void given_back(void *at) { free(at); }
"""
LOADS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **arguments) {
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_DEEPBIND);
    if (!library) return puts(dlerror());
    ((void (*)(void *))dlsym(library, "given_back"))(malloc(2 << 20));
    free(((void *(*)(void))dlsym(library, "taken"))());
    return dlopen("/nowhere.so", RTLD_LAZY) != NULL;
}
"""


def test_libraries_that_prefer_their_own_functions_share_the_memory(tmp_path: Path) -> None:
    its = library(FREES, tmp_path / "frees.so", "-lc")
    program = str(compiled(LOADS, tmp_path / "loads"))
    outcome, output = said([program, str(its)], memory(MB), tmp_path)
    assert (outcome.exit_code, output) == (0, "")


INSISTS = """
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { BYTES = 40 << 20, FLAGS = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
int main(void) {
    for (long at = 0x300000000000; at < 0x380000000000; at += 0x10000000000) {
        char *memory = mmap((void *)at, BYTES, PROT_NONE, FLAGS, -1, 0);
        if (memory == (char *)at) {
            mprotect(memory, BYTES, PROT_READ | PROT_WRITE);
            for (int turn = 1; turn < 4; turn++)
                for (long page = 0; page < BYTES; page += 4096)
                    if (memory[page] != turn - 1) return 2; else memory[page] = turn;
            for (int turn = 0; turn < 100; turn++) usleep(20000);
            return munmap(memory, BYTES);
        }
        munmap(memory, BYTES);
    }
    return 1;
}
"""


def test_a_program_that_insists_on_an_address_gets_it(tmp_path: Path) -> None:
    program = str(compiled(INSISTS, tmp_path / "insists"))
    outcome, _ = said([program], memory(4 * MB), tmp_path)
    assert outcome.exit_code == 0
    assert outcome.coverage
    assert outcome.coverage.covers
    assert outcome.faults >= 2 * 10_000


PRIVILEGES = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    if (setgid(65534) || setuid(65534)) return 1;
    char *memory = malloc(40 << 20);
    memset(memory, 1, 40 << 20);
    return memory[getpid()] - 1;
}
"""


def test_why_a_program_that_gave_up_its_privileges_ends_is_said(tmp_path: Path) -> None:
    if Path("/proc/sys/vm/unprivileged_userfaultfd").read_text().strip() != "0" or os.geteuid():
        pytest.skip("anybody may handle page faults here, or nobody has privileges to give up")
    program = str(compiled(PRIVILEGES, tmp_path / "privileges"))
    # Its error output is a file of root's that it can't open.
    with (tmp_path / "said").open("wb") as log:
        (tmp_path / "said").chmod(0o600)
        outcome = run([program], memory(4 * MB), log=log)
    assert outcome.exit_code == 125
    assert len(outcome.notes) == 1
    assert "userfaultfd" in outcome.notes[0]


def test_memory_that_stays_is_said_with_its_kind(tmp_path: Path) -> None:
    program = str(compiled(ONE_WAY, tmp_path / "one-way"))
    outcome, _ = said([program, str(mmap.MAP_SHARED)], memory(4 * MB), tmp_path)
    assert outcome.exit_code == 0
    assert outcome.coverage
    assert not outcome.coverage.covers
    assert 40 << 20 <= outcome.coverage.others_bytes["shared"] < 44 << 20


OBJECTS = """
import gc
numbers = list(range(400_000))
by_name = {f"name {each}": (each, [each]) for each in range(150_000)}
total = sum(numbers)
del numbers
gc.collect()
for turn in range(2):
    total += sum(each[1][0] for each in by_name.values())
print(total)
"""


def test_pythons_own_objects_are_remote(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OBJECTS]
    outcome, output = said(command, memory(20 * MB), tmp_path)
    assert output == plain(command)
    assert outcome.touched_bytes > 50 * MB
    assert outcome.faults > 10_000
    assert outcome.coverage
    assert (outcome.coverage.share or 1) < 0.25


JAVA = """
import java.util.*;
public class Program {
    public static void main(String[] arguments) throws Exception {
        List<long[]> blocks = new ArrayList<>();
        for (int block = 0; block < 2500; block++) {
            long[] made = new long[16384];
            for (int at = 0; at < made.length; at += 128) made[at] = block * 31L + at;
            blocks.add(made);
        }
        long[] sums = new long[3];
        Thread[] threads = new Thread[sums.length];
        for (int thread = 0; thread < threads.length; thread++) {
            int me = thread;
            threads[thread] = new Thread(() -> {
                for (int block = me; block < blocks.size(); block += sums.length)
                    for (int at = 0; at < 16384; at += 512) sums[me] += blocks.get(block)[at];
            });
            threads[thread].start();
        }
        for (Thread thread : threads) thread.join();
        blocks.subList(0, 2000).clear();
        System.gc();
        new ProcessBuilder("true").start().waitFor();
        System.out.println(sums[0] + " " + sums[1] + " " + sums[2] + " " + blocks.get(400)[128]);
    }
}
"""


def test_a_java_program_with_a_tenth_of_its_heap_local(tmp_path: Path) -> None:
    java, source = needed("java"), tmp_path / "Program.java"
    source.write_text(JAVA)
    subprocess.run([needed("javac"), "-d", str(tmp_path), str(source)], check=True)
    command = [java, "-cp", str(tmp_path), "Program"]
    outcome, output = said(command, memory(40 * MB), tmp_path)
    assert output == plain(command)
    assert outcome.touched_bytes > 330 * MB
    assert outcome.faults > 50_000
    assert outcome.coverage
    assert outcome.coverage.covers == ((outcome.coverage.worst_share or 1) <= 0.1)
    assert (outcome.coverage.share or 1) < 0.2


NODE = """
const { Worker } = require("worker_threads");
const kept = new Map();
for (let at = 0; at < 300000; at++) kept.set(at, { at, name: "x" + at, list: [at, at + 1] });
let sum = 0;
for (let turn = 0; turn < 2; turn++) for (const each of kept.values()) sum += each.at + each.name.length + each.list[1];
const grown = new WebAssembly.Memory({ initial: 10, maximum: 1000 });
new Uint32Array(grown.buffer)[100] = 7;
grown.grow(50);
sum += new Uint32Array(grown.buffer)[100];
const fib = n => (n < 2 ? n : fib(n - 1) + fib(n - 2));
for (let at = 0; at < 200000; at += 2) kept.delete(at);
const program = 'const all = []; for (let at = 0; at < 100000; at++) all.push({ at });' +
  'require("worker_threads").parentPort.postMessage(all.reduce((sum, each) => sum + each.at, 0))';
new Worker(program, { eval: true }).on("message", other => console.log(sum, fib(25), other, kept.size));
"""


def test_a_program_in_node_whose_code_is_made_while_it_runs(tmp_path: Path) -> None:
    command = [needed("node"), "-e", NODE]
    outcome, output = said(command, memory(40 * MB), tmp_path)
    assert output == plain(command)
    assert outcome.exit_code == 0
    assert outcome.touched_bytes > 60 * MB
    assert outcome.pages_out > 1000


REDIS = """
set -e
cd "$1"
redis-server --port 0 --unixsocket "$1/socket" --save "" --daemonize no --enable-debug-command yes >log 2>&1 &
for try in $(seq 200); do redis-cli -s socket ping >/dev/null 2>&1 && break; sleep 0.05; done
redis-cli -s socket debug populate 60000 key 100
redis-cli -s socket debug digest
redis-cli -s socket save
redis-cli -s socket debug reload
redis-cli -s socket debug digest
redis-cli -s socket shutdown nosave || true
wait $!
echo "$?"
"""


def test_a_redis_server_keeps_its_keys(tmp_path: Path) -> None:
    needed("redis-server"), needed("redis-cli")
    (tmp_path / "plain").mkdir()
    (tmp_path / "far").mkdir()
    expected = plain(["bash", "-c", REDIS, "redis", str(tmp_path / "plain")])
    outcome, output = said(["bash", "-c", REDIS, "redis", str(tmp_path / "far")], memory(6 * MB), tmp_path)
    assert output == expected
    assert outcome.faults > 1000
