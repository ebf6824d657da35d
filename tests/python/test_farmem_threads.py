"""Threads on remote memory: their waits overlap, what they fetch shares the link, and each sees what it wrote."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import incast
from farmem_programs import compiled, remote_memory_or_skip
from incast.farmem.run import Memory, Outcome, run
from incast.farmem.server import MemoryServer
from memory_servers import KEY, Serving, serving, written_key

pytestmark = pytest.mark.alone

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define PAGES 200
static unsigned char *at;
static long each;
static int same;
static pthread_barrier_t all;
static long *page(long number) { return (long *)(at + number * 4096); }
static void *look(void *seed) {
    unsigned long x = (unsigned long)seed * 0x9e3779b97f4a7c15ul + 1;
    for (long i = 0; i < each; i++) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        if (same) pthread_barrier_wait(&all);
        long number = same ? i * 7 % PAGES : (long)(x % PAGES);
        if (page(number)[0] != number || page(number)[511] != ~number) abort();
    }
    return NULL;
}
/* Each thread writes to its own word of a page, which others do at the same time. */
static void *count(void *which) {
    unsigned long x = (unsigned long)which * 0x9e3779b97f4a7c15ul + 1;
    long word = (long)which, *known = calloc(PAGES, sizeof(long));
    for (long i = 0; i < each; i++) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        long number = (long)(x % PAGES);
        if (page(number)[word] != known[number]) abort();
        page(number)[word] = ++known[number];
    }
    return NULL;
}
/* Pages of its own are given back, and are zero. */
static void *give(void *which) {
    long bytes = 64 * 4096, turn = (long)which;
    for (long i = 0; i < each / 64; i++) {
        unsigned char *own = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (long b = 0; b < bytes; b += 4096) { if (own[b]) abort(); own[b] = (unsigned char)turn; }
        madvise(own + 8 * 4096, 8 * 4096, MADV_DONTNEED);
        for (long b = 0; b < bytes; b += 4096)
            if (own[b] != (b >= 8 * 4096 && b < 16 * 4096 ? 0 : turn)) abort();
        munmap(own, bytes);
    }
    return NULL;
}
int main(int n, char **v) {
    int threads = atoi(v[2]);
    each = atol(v[3]) / threads;
    same = !strcmp(v[1], "same");
    at = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long p = 0; p < PAGES; p++) { page(p)[0] = p; page(p)[511] = ~p; }
    pthread_barrier_init(&all, NULL, threads);
    pthread_t t[64];
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long i = 0; i < threads; i++) {
        void *(*does)(void *) = look;
        if (!strcmp(v[1], "write")) does = i % 4 == 3 ? give : count;
        pthread_create(t + i, 0, does, (void *)(i + 1));
    }
    for (int forks = 0; n > 4 && forks < atoi(v[4]); forks++) {
        pid_t child = fork();
        if (child == 0) {
            each = 100; same = 0;
            look((void *)77);
            _exit(0);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status) abort();
    }
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.6f\n", (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9);
    return 0;
}
"""
LOCAL = 32 * 4096
FAR = Memory(LOCAL, 2_000_000_000, 10**11)
"""2 ms: what else a busy machine does takes less."""


@pytest.fixture(autouse=True, scope="module")
def _allowed() -> None:
    remote_memory_or_skip()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    source = tmp_path_factory.mktemp("threads") / "threads.c"
    return str(compiled(PROGRAM, source.with_suffix("")))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(written_key(tmp_path_factory.mktemp("key")), "--memory", "64MiB") as found:
        yield found


@contextlib.contextmanager
def late(port: int, delay_s: float) -> Iterator[int]:
    """A port whose bytes reach this port, and come back, so much later each way."""
    ends: list[socket.socket] = []

    def carry(a: socket.socket, b: socket.socket) -> None:
        on_its_way: queue.Queue[tuple[float, bytes]] = queue.Queue()

        def deliver() -> None:
            with contextlib.suppress(OSError):
                while True:
                    at, data = on_its_way.get()
                    time.sleep(max(0.0, at - time.monotonic()))
                    b.sendall(data)
                    if not data:
                        b.shutdown(socket.SHUT_WR)
                        return

        threading.Thread(target=deliver, daemon=True).start()
        with contextlib.suppress(OSError):
            while data := a.recv(1 << 16):
                on_its_way.put((time.monotonic() + delay_s, data))
        on_its_way.put((0.0, b""))

    def accept(listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                there = socket.create_connection(("127.0.0.1", port))
                ends.extend((near, there))
                for a, b in ((near, there), (there, near)):
                    a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(target=carry, args=(a, b), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            for end in ends:
                end.close()


def took(program: str, memory: Memory, tmp_path: Path, *arguments: object) -> tuple[float, Outcome]:
    """Seconds of the threads, by the program's clock."""
    with (tmp_path / "said").open("w+b") as log:
        outcome = run([program, *map(str, arguments)], memory, log=log)
        log.seek(0)
        said = log.read().decode()
    assert outcome.exit_code == 0, said
    return float(said), outcome


@pytest.mark.parametrize("compress", [None, "lz4"])
@pytest.mark.parametrize("there", ["here", "server"])
def test_waits_for_latency_overlap(
    there: str, compress: str | None, program: str, server: Serving, tmp_path: Path
) -> None:
    memory = replace(FAR, compress=compress)
    if there == "server":
        memory = replace(memory, local=LOCAL + 8 * 4096, server=server.memory(1).server)
    alone, outcome = took(program, memory, tmp_path, "look", 1, 240)
    assert alone >= outcome.faults * 1.9e-3
    for threads, faster in ((2, 1.4), (8, 3.5)):
        together, outcome = took(program, memory, tmp_path, "look", threads, 240)
        assert alone / together > faster
        # They all were waited for, each as long as it should.
        assert outcome.injected_s >= outcome.nominal_s >= outcome.faults * 2e-3


def test_what_a_fault_is_said_to_lose_is_lost_where_processors_must_be_woken(
    program: str, tmp_path: Path
) -> None:
    """One thread faults while another waits for it: the handler is on a processor of its own."""
    memory = replace(FAR, latency_ps=20_000_000)
    ratios = []
    for _ in range(3):
        seconds, outcome = took(program, memory, tmp_path, "look", 1, 30_000)
        assert outcome.lost_us_a_fault is not None
        handled = outcome.faults + (outcome.soft_faults or 0)
        ratios.append(outcome.lost_us_a_fault / ((seconds - outcome.nominal_s) / handled * 1e6))
    assert 0.6 < sorted(ratios)[1] < 1.4, ratios


def test_requests_to_a_server_are_on_their_way_together(
    program: str, server: Serving, tmp_path: Path
) -> None:
    with late(server.port, 2e-3) as port:
        memory = Memory(LOCAL, 0, 0, server=MemoryServer("127.0.0.1", port, KEY.encode(), 60_000))

        def least(threads: int) -> float:
            """Of three: something else on the machine may take the processor away."""
            return min(took(program, memory, tmp_path, "look", threads, 160)[0] for _ in range(3))

        assert least(1) / least(8) > 4


def test_the_simulator_overlaps_waits_of_a_traced_programs_threads(program: str, tmp_path: Path) -> None:
    slower = {}
    for threads in (1, 4):
        folder = tmp_path / str(threads)
        folder.mkdir()
        trace = folder / "look.trace"
        took(program, Memory(LOCAL, 0, 10**14, trace=trace), folder, "look", threads, 240)
        job = {
            "name": "look", "kind": "farmem", "programs": "host0", "memory": "host1", "write_back": "after",
            "write_buffer": 1024, "local": f"{LOCAL}B", "pattern": {"kind": "trace", "file": trace.name},
        }  # fmt: skip
        link = {"rate": "100Gbps", "delay": "250us"}
        topology = {"kind": "single-switch", "hosts": 2, "host_link": link}
        scenario = {"name": "look", "topology": topology, "jobs": [job], "until": "10s"}
        (folder / "look.yaml").write_text(json.dumps(scenario))
        (row,) = incast.run(folder / "look.yaml", folder / "run").programs.rows(named=True)
        # The first thread has filled the memory, and waits for the others.
        assert (row["outcome"], row["threads"]) == ("finished", 1 + threads)
        slower[threads] = row["end_ps"] - row["start_ps"] - row["all_local_ps"]
    assert 3 < slower[1] / slower[4] < 4.5


@pytest.mark.parametrize("threads", [1, 4])
def test_bandwidth_is_shared(threads: int, program: str, tmp_path: Path) -> None:
    # A page takes 328 µs on the wire, however many ask.
    wall, outcome = took(program, Memory(LOCAL, 1_000_000, 10**8), tmp_path, "look", threads, 600)
    wire = outcome.bytes_in * 8 / 10**8
    assert wall > wire * 0.99
    assert (outcome.queued_s > wire) == (threads > 1)


def test_threads_that_want_the_same_page_wait_for_one_fetch(program: str, tmp_path: Path) -> None:
    _, alone = took(program, FAR, tmp_path, "same", 1, 150)
    _, together = took(program, FAR, tmp_path, "same", 4, 600)
    assert together.faults <= alone.faults * 1.1


@pytest.mark.parametrize("memory", [Memory(16 * 4096, 100_000_000, 10**10), Memory(LOCAL, 0, 10**14)])
@pytest.mark.parametrize(
    "more", [{}, {"policy": "lru"}, {"read_ahead": 7}, {"compress": "lz4"}, {"server": 1}]
)
def test_what_threads_write_stays_while_others_wait_fork_and_give_back(
    memory: Memory, more: dict[str, object], program: str, server: Serving, tmp_path: Path
) -> None:
    if "server" in more:
        more = {"server": server.memory(1).server, "local": memory.local + 8 * 4096}
    took(program, replace(memory, **more), tmp_path, "write", 8, 2400, 5)  # type: ignore[arg-type]
