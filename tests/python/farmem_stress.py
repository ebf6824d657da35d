"""A program whose memory is checked: it prints a digest that must be the same with remote memory as without.

Blocks from malloc and mmap, read and written at random by threads, moved, given back, forked, and filled by system
calls. What each block holds is known from a generator, so that a wrong byte is found where it is.
"""

import ctypes
import hashlib
import mmap
import os
import random
import sys
import threading

import numpy as np

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mremap.restype = ctypes.c_void_p
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
]
LIBC.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
LIBC.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
PAGE = 4096
FAILED = 2**64 - 1


def pattern(seed: int, length: int) -> bytes:
    """So many bytes that nobody else has."""
    return np.random.default_rng(seed).integers(0, 256, length, dtype=np.uint8).tobytes()


def anonymous(length: int) -> int:
    """A mapping of the C library's."""
    at = LIBC.mmap(
        None, length, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0
    )
    assert at != FAILED
    return int(at)


def mappings() -> None:
    """Mappings that are moved, cut, given back, protected and used again."""
    length = 96 * PAGE
    at = anonymous(length)
    data = pattern(1, length)
    assert ctypes.string_at(at, length) == bytes(length)
    ctypes.memmove(at, data, length)
    at = LIBC.mremap(at, length, 4 * length, 1)
    assert at != FAILED
    assert ctypes.string_at(at, 4 * length) == data + bytes(3 * length)
    LIBC.mremap(at, 4 * length, length // 2, 0)
    assert ctypes.string_at(at, length // 2) == data[: length // 2]
    # Given back: zeros, here and in remote memory.
    assert LIBC.madvise(at, 8 * PAGE, mmap.MADV_DONTNEED) == 0
    assert ctypes.string_at(at, 16 * PAGE) == bytes(8 * PAGE) + data[8 * PAGE : 16 * PAGE]
    # Pages that may only be read, and pages that may not, keep what they hold.
    assert LIBC.mprotect(at + 8 * PAGE, 4 * PAGE, mmap.PROT_READ) == 0
    assert LIBC.mprotect(at + 16 * PAGE, 4 * PAGE, 0) == 0
    sweep(512)
    assert ctypes.string_at(at + 8 * PAGE, 4 * PAGE) == data[8 * PAGE : 12 * PAGE]
    sweep(512)
    assert LIBC.mprotect(at + 8 * PAGE, 12 * PAGE, mmap.PROT_READ | mmap.PROT_WRITE) == 0
    assert ctypes.string_at(at + 8 * PAGE, 16 * PAGE) == data[8 * PAGE : 24 * PAGE]
    # A part in the middle goes; what lies around it stays.
    assert LIBC.munmap(at + 24 * PAGE, 8 * PAGE) == 0
    assert ctypes.string_at(at + 32 * PAGE, 16 * PAGE) == data[32 * PAGE : 48 * PAGE]
    assert LIBC.munmap(at, 24 * PAGE) == 0
    assert LIBC.munmap(at + 32 * PAGE, 16 * PAGE) == 0
    again = anonymous(length)
    assert ctypes.string_at(again, length) == bytes(length)
    assert LIBC.munmap(again, length) == 0
    with mmap.mmap(-1, length) as shared:
        shared[:] = data
        shared.seek(0)
        assert shared.read() == data


def sweep(pages: int) -> int:
    """Touches so much that whatever was local is local no longer."""
    return int(np.ones(pages * PAGE // 8)[:: PAGE // 8].sum())


def threads(blocks: int, count: int) -> str:
    """Threads write their own bytes of shared pages, and check them."""
    shared = np.zeros((blocks * 512, count), dtype=np.uint64)
    wrong: list[str] = []

    def work(me: int) -> None:
        rng = np.random.default_rng(me)
        expected = np.zeros(len(shared), dtype=np.uint64)
        for _ in range(60):
            where = rng.integers(0, len(shared), 200)
            value = rng.integers(0, 2**63, 200, dtype=np.uint64)
            # What comes last at a place stays, in both.
            for at, number in zip(where, value, strict=True):
                shared[at, me] = number
                expected[at] = number
            at = rng.integers(0, len(shared) - 100)
            if not (shared[at : at + 100, me] == expected[at : at + 100]).all():
                wrong.append(f"thread {me}")
        if not (shared[:, me] == expected).all():
            wrong.append(f"thread {me} at the end")

    running = [threading.Thread(target=work, args=(me,)) for me in range(count)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not wrong, wrong
    return hashlib.sha256(shared.tobytes()).hexdigest()


def system_calls(length: int) -> None:
    """The kernel reads and writes memory that is remote."""
    data = pattern(7, length)
    read, write = os.pipe()

    def send() -> None:
        os.write(write, data[: 1 << 16])
        os.close(write)

    sender = threading.Thread(target=send)
    target = bytearray(length)
    sweep(512)
    sender.start()
    got, view = 0, memoryview(target)
    while chunk := os.readv(read, [view[got:]]):
        got += chunk
    sender.join()
    os.close(read)
    assert target[:got] == data[:got]
    assert got == min(length, 1 << 16)
    fd = os.memfd_create("stress")
    sweep(512)
    assert os.pwrite(fd, data, 0) == length
    sweep(512)
    assert os.preadv(fd, [target], 0) == length
    assert target == data
    os.close(fd)


def forks(blocks: list[np.ndarray]) -> str:
    """Children see what was there at the fork, change their own copy, fork again, and change nothing of the parent's."""
    seen = []
    for child in range(2):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                before = digest(blocks)
                for block in blocks:
                    block[child::7] += 1
                inner = os.fork()
                if inner == 0:
                    for block in blocks:
                        block[:] = 0
                    sweep(256)
                    os._exit(0 if not any(block.any() for block in blocks) else 3)
                _, status = os.waitpid(inner, 0)
                os.write(write, f"{before} {digest(blocks)} {status}".encode())
            finally:
                os._exit(0)
        os.close(write)
        # The parent goes on writing, and takes it back.
        for block in blocks:
            block += 3
        for block in blocks:
            block -= 3
        with os.fdopen(read, "rb") as answers:
            before, after, inner_status = answers.read().decode().split()
        os.waitpid(pid, 0)
        assert before == digest(blocks)
        assert inner_status == "0"
        seen.append(after)
    return " ".join(seen)


def digest(blocks: list[np.ndarray]) -> str:
    """Of all that blocks hold."""
    total = hashlib.sha256()
    for block in blocks:
        total.update(block.tobytes())
    return total.hexdigest()


def heap(rounds: int) -> str:
    """Allocations of all sizes, made longer, shorter and freed in any order."""
    rng = random.Random(5)
    held: dict[int, bytearray] = {}
    seeds: dict[int, tuple[int, int]] = {}
    for turn in range(rounds):
        key = rng.randrange(120)
        if key in held and rng.random() < 0.4:
            seed, length = seeds.pop(key)
            assert held.pop(key) == pattern(seed, length)
        elif key in held:
            seed, length = seeds[key]
            more = rng.choice([1, 100, 5000, 200_000])
            held[key] += bytes(more)
            assert held[key][:length] == pattern(seed, length)
            assert not any(held[key][length:])
            del held[key][length:]
        else:
            length = rng.choice([10, 500, 4096, 70_000, 1_500_000])
            held[key], seeds[key] = bytearray(pattern(turn, length)), (turn, length)
    total = hashlib.sha256()
    for key in sorted(held):
        total.update(held[key])
    return total.hexdigest()


def main(scale: int) -> None:
    """All of it; the digest is what comes out."""
    out = [heap(150 * scale)]
    mappings()
    out.append(threads(8 * scale, 4))
    system_calls(300_000)
    blocks = [np.frombuffer(pattern(seed, 40_000), dtype=np.uint8).copy() for seed in range(10 * scale)]
    out.append(forks(blocks))
    mappings()
    out.append(threads(4 * scale, 3))
    print(hashlib.sha256(" ".join(out).encode()).hexdigest())


if __name__ == "__main__":
    main(int(sys.argv[1]))
