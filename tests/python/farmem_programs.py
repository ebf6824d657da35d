"""Programs for tests of remote memory, and whether there is any here."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import farmem_traces as traces
from incast.errors import RunError
from incast.farmem.run import LIBRARY, Memory, Outcome, check, run
from incast.farmem.traced import Cache, Traced


def remote_memory_or_skip() -> None:
    """Skips the test where no program can have remote memory."""
    assert LIBRARY.exists(), "pip install builds it"
    try:
        check()
    except RunError as refused:
        if "userfaultfd" not in str(refused):
            raise
        pytest.skip(f"not on this machine: {refused}")


def compiled(source: str, to: Path) -> Path:
    """A program in C."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler (cc)")
    subprocess.run(["cc", "-O1", "-x", "c", "-", "-o", to], input=source, text=True, check=True)
    return to


def memory(pages: int, page: int = 4096, read_ahead: int = 0, pages_a_request: int = 1) -> Memory:
    """So many pages of local memory, with a delay of 1 µs and 100 Gb/s."""
    return Memory(pages * page, 1_000_000, 100 * 10**9, page, read_ahead, pages_a_request)


def python(code: str, with_: Memory) -> Outcome:
    """Runs a script."""
    return run([sys.executable, "-c", code], with_)


SWEEP = """
import ctypes, struct
block = bytearray(3001 * 4096)
first = -(ctypes.addressof(ctypes.c_char.from_buffer(block)) // -4096)
pages = range(64, len(block) - 4096, 4096)
for sweep in range({sweeps}):
    for at in pages:
        block[at]{change}
with open("/proc/self/pagemap", "rb") as words:
    words.seek(first * 8)
    here = sum(word >> 63 for word, in struct.iter_unpack("<Q", words.read(3000 * 8)))
print(here)
"""

PATTERN = """
#include <stdio.h>
#include <stdlib.h>
static unsigned char counts[1 << 16];
int main(int count, char **arguments) {
    unsigned char *block = malloc(atol(arguments[1]) * 4096);
    FILE *order = fopen(arguments[2], "rb");
    unsigned page;
    while (fread(&page, sizeof page, 1, order) == 1) {
        volatile unsigned char *at = block + page * 4096L;
        if (counts[page] && *at != counts[page]) abort();
        *at = ++counts[page];
    }
    return 0;
}
"""

SIGNALS = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define PAGES 600
static volatile unsigned char *block;
static volatile unsigned seen;
static const struct itimerval soon = {{0, 0}, {0, 50}};
static void look(int number) {
    for (int touch = 0; touch < 8; touch++) {
        unsigned page = (seen += 7) % PAGES;
        if (block[page * 4096L] != page % 251 + 1) _exit(9);
    }
    // Not before: where pages are slow to come, there would be nothing but signals.
    setitimer(ITIMER_REAL, &soon, NULL);
}
int main(void) {
    block = malloc(PAGES * 4096L);
    for (int page = 0; page < PAGES; page++) block[page * 4096L] = page % 251 + 1;
    signal(SIGALRM, look);
    for (int turn = 0; turn < 50; turn++) {
        setitimer(ITIMER_REAL, &soon, NULL);
        pid_t child = fork();
        if (child == 0) {
            for (int page = 0; page < PAGES; page += 50)
                if (block[page * 4096L] != page % 251 + 1) _exit(8);
            kill(getpid(), SIGALRM);
            _exit(0);
        }
        int status;
        while (waitpid(child, &status, 0) < 0) {}
        if (status) return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
    }
    return 0;
}
"""
"""Forks while signals come, whose handler looks at remote pages; 9 and 8 when they are not what they were."""


class Accesses:
    """A program that changes pages by Zipf's law with exponent 0.9, and has next to no other memory.

    It is killed when a page is not what it made of it.
    """

    def __init__(self, folder: Path, pages: int, times: int) -> None:
        weights = [(rank + 1) ** -0.9 for rank in range(pages)]
        order = random.Random(1).choices(range(pages), weights, k=times)
        file = folder / "order"
        file.write_bytes(struct.pack(f"<{times}I", *order))
        self.command = [str(compiled(PATTERN, folder / "pattern")), str(pages), str(file)]
        records = (traces.record(traces.WRITE, page) for page in order)
        self._traced = Traced.read(traces.write(folder / "order.trace", records))

    def faults(self, pages: int, policy: str) -> int:
        """Of a cache of so many pages that sees each access."""
        return self._traced.counts(4096, Cache(pages, policy)).faults
