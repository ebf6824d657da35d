/* A program that gets anonymous memory in each way that a program can, and checks what it holds: it prints a digest, and is ended by a
 * word on standard output when a page is not what it was made.
 *
 * Each way has PAGES pages. They are written, gone through while the other ways' pages push them out, and checked.
 *
 *     farmem_ways            all ways
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 400, WORDS = PAGE / 8 };
static const size_t BYTES = (size_t)PAGES * PAGE;
static const int BOTH = PROT_READ | PROT_WRITE, ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS;

static uint64_t global[PAGES * WORDS] __attribute__((aligned(PAGE)));
static uint64_t filled[PAGES * WORDS] = {1};
static uint64_t *ways[64];
static const char *names[64];
static int count;

static void need(int so, const char *what) {
    if (!so) {
        printf("wrong: %s\n", what);
        fflush(stdout);
        _exit(1);
    }
}

static uint64_t value(int way, size_t page) { return (uint64_t)(way + 1) * 1000003 + page * 7; }

static void write_all(int way) {
    for (size_t page = 0; page < PAGES; page++) ways[way][page * WORDS + page % WORDS] = value(way, page);
}

static void check(int way) {
    for (size_t page = 0; page < PAGES; page++)
        need(ways[way][page * WORDS + page % WORDS] == value(way, page), names[way]);
}

static void add(const char *name, void *at) {
    need(at != NULL && at != MAP_FAILED, name);
    for (size_t page = 0; page < PAGES; page++) need(((char *)at)[page * PAGE + 9] == 0 || at == filled, name);
    ways[count] = at;
    names[count] = name;
    write_all(count++);
}

static void *aligned(size_t align) {
    void *at = NULL;
    need(posix_memalign(&at, align, BYTES) == 0, "posix_memalign");
    need((uintptr_t)at % align == 0, "alignment");
    return memset(at, 0, BYTES);
}

static void allocations(void) {
    add("calloc", calloc(PAGES, PAGE));
    add("malloc", memset(malloc(BYTES), 0, BYTES));
    add("posix_memalign", aligned(64));
    add("posix_memalign of 4 MiB", aligned(4 << 20));
    add("aligned_alloc", memset(aligned_alloc(PAGE, BYTES), 0, BYTES));
    add("valloc", memset(valloc(BYTES), 0, BYTES));
    add("reallocarray", memset(reallocarray(NULL, PAGES, PAGE), 0, BYTES));
    add("sbrk", sbrk((intptr_t)BYTES));
    need(sbrk(0) == (char *)ways[count - 1] + BYTES, "the break");
    need(brk((char *)ways[count - 1] + 2 * BYTES) == 0 && sbrk(-(intptr_t)BYTES) != (void *)-1, "brk");
    add("data", filled);
    add("bss", global);
}

static void mappings(void) {
    add("mmap", mmap(NULL, BYTES, BOTH, ANONYMOUS, -1, 0));
    add("mmap64", mmap64(NULL, BYTES, BOTH, ANONYMOUS, -1, 0));
    add("mmap without a promise", mmap(NULL, BYTES, BOTH, ANONYMOUS | MAP_NORESERVE, -1, 0));
    add("mmap by number", (void *)syscall(SYS_mmap, NULL, BYTES, BOTH, ANONYMOUS, -1, 0L));
    add("a stack", mmap(NULL, BYTES, BOTH, ANONYMOUS | MAP_STACK, -1, 0));
    add("shared", mmap(NULL, BYTES, BOTH, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    add("at a place", mmap((void *)0x200000000000, BYTES, BOTH, ANONYMOUS | MAP_FIXED, -1, 0));
    /* Reserved first: usable by a mapping in its place, or by its protection. */
    char *reserved = mmap(NULL, (size_t)8 << 30, PROT_NONE, ANONYMOUS | MAP_NORESERVE, -1, 0);
    need(reserved != MAP_FAILED, "a reservation");
    add("in a reservation", mmap(reserved + (1 << 30), BYTES, BOTH, ANONYMOUS | MAP_FIXED, -1, 0));
    need(mprotect(reserved + ((size_t)3 << 30), BYTES, BOTH) == 0, "mprotect");
    add("in a reservation, by protection", reserved + ((size_t)3 << 30));
    need(munmap(reserved, 1 << 30) == 0 && munmap(reserved + ((size_t)5 << 30), (size_t)3 << 30) == 0, "munmap");
}

static void moved(void) {
    char *from = mmap(NULL, BYTES / 2, BOTH, ANONYMOUS, -1, 0);
    char *behind = mmap(NULL, BYTES, BOTH, ANONYMOUS, -1, 0);
    for (size_t page = 0; page < PAGES / 2; page++) from[page * PAGE + 77] = (char)(page + 1);
    char *to = mremap(from, BYTES / 2, BYTES, MREMAP_MAYMOVE);
    for (size_t page = 0; page < PAGES / 2; page++) {
        need(to[page * PAGE + 77] == (char)(page + 1), "mremap");
        to[page * PAGE + 77] = 0;
    }
    to = mremap(to, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, behind);
    need(to == behind, "mremap to a place");
    add("mremap", to);
}

/* What a garbage collector does to pages: it takes them out of reach, and back. */
static void taken_away(int way) {
    char *at = (char *)ways[way];
    need(mprotect(at, BYTES, PROT_NONE) == 0, "PROT_NONE");
    for (int other = 0; other < count; other++)
        if (other != way) check(other);
    need(mprotect(at, BYTES, PROT_READ) == 0, "PROT_READ");
    check(way);
    need(mprotect(at, BYTES, BOTH) == 0, "and back");
    write_all(way);
}

/* Memory that is written to, and run: a function that returns its number. */
static void code(void) {
#ifdef __x86_64__
    enum { FUNCTIONS = 64 };
    unsigned char *at = mmap(NULL, FUNCTIONS * PAGE, PROT_NONE, ANONYMOUS, -1, 0);
    need(mprotect(at, FUNCTIONS * PAGE, BOTH) == 0, "code is writable");
    for (int each = 0; each < FUNCTIONS; each++) {
        unsigned char text[] = {0xb8, (unsigned char)each, 0, 0, 0, 0xc3};
        memcpy(at + each * PAGE, text, sizeof text);
    }
    for (int way = 0; way < count; way++) check(way);
    for (int turn = 0; turn < 2; turn++) {
        need(mprotect(at, FUNCTIONS * PAGE, PROT_READ | PROT_EXEC | (turn ? PROT_WRITE : 0)) == 0, "code");
        for (int way = 0; way < count; way++) check(way);
        for (int each = 0; each < FUNCTIONS; each++)
            need(((int (*)(void))(at + each * PAGE))() == each, "code runs");
    }
    char *both = mmap(at, FUNCTIONS * PAGE, BOTH | PROT_EXEC, ANONYMOUS | MAP_FIXED, -1, 0);
    need(both == (char *)at && at[0] == 0, "code in its place");
    need(munmap(at, FUNCTIONS * PAGE) == 0, "code is gone");
#endif
}

/* A file in the middle of what is anonymous. */
static void file(void) {
    char *at = mmap(NULL, BYTES, BOTH, ANONYMOUS, -1, 0);
    FILE *text = tmpfile();
    need(text && ftruncate(fileno(text), 16 * PAGE) == 0 && pwrite(fileno(text), "here", 4, 3 * PAGE) == 4, "a file");
    memset(at, 5, BYTES);
    need(mmap(at + 8 * PAGE, 16 * PAGE, BOTH, MAP_PRIVATE | MAP_FIXED, fileno(text), 0) != MAP_FAILED, "a file inside");
    for (int way = 0; way < count; way++) check(way);
    need(memcmp(at + 11 * PAGE, "here", 4) == 0 && at[7 * PAGE] == 5 && at[24 * PAGE] == 5, "what is around a file");
    need(madvise(at, BYTES, MADV_DONTNEED) == 0 && at[0] == 0 && memcmp(at + 11 * PAGE, "here", 4) == 0, "advice");
    need(munmap(at, BYTES) == 0, "a file is gone");
}

static void *at_place(size_t number, size_t bytes, int protection, int flags) {
    char *wanted = (char *)0x210000000000 + (number << 32);
    char *at = mmap(wanted, bytes, protection, ANONYMOUS | flags, -1, 0);
    need(at == wanted, "a place");
    return at;
}

/* What a program may do with memory at an address that it chose. */
static void chosen(void) {
    enum { SOME = PAGES / 10 * PAGE };
    for (int turn = 0; turn < 600; turn++) {
        char *again = at_place(0, SOME, BOTH, turn % 2 ? MAP_FIXED : MAP_FIXED_NOREPLACE);
        for (size_t at = 0; at < SOME; at += 4 * PAGE) need(again[at] == 0, "a place again");
        memset(again, turn | 1, SOME);
        need(turn % 3 == 0 || munmap(again, SOME) == 0, "a place is given back");
        if (turn % 3 == 0) need(mmap(again, SOME, PROT_NONE, ANONYMOUS | MAP_FIXED, -1, 0) == again && munmap(again, SOME) == 0, "reserved");
    }
    char *at = at_place(1, 2 * BYTES, PROT_NONE, MAP_FIXED | MAP_NORESERVE);
    need(mprotect(at, BYTES, BOTH) == 0 && at[BYTES - 1] == 0, "a reserved place");
    for (size_t page = 0; page < PAGES; page++) at[page * PAGE] = (char)(page + 1);
    for (int way = 0; way < count; way++) check(way);
    /* A hole, a file, memory that is given back, and what is left of it. */
    need(munmap(at + 8 * PAGE, 8 * PAGE) == 0, "a hole");
    FILE *text = tmpfile();
    need(text && ftruncate(fileno(text), 4 * PAGE) == 0, "a file");
    need(mmap(at + 40 * PAGE, 4 * PAGE, BOTH, MAP_PRIVATE | MAP_FIXED, fileno(text), 0) != MAP_FAILED, "a file");
    need(madvise(at + 60 * PAGE, 20 * PAGE, MADV_DONTNEED) == 0, "advice");
    need(mmap(at + 90 * PAGE, 10 * PAGE, BOTH, ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED, "in its place");
    for (int way = 0; way < count; way++) check(way);
    for (size_t page = 0; page < PAGES; page++) {
        int empty = (page >= 40 && page < 44) || (page >= 60 && page < 80) || (page >= 90 && page < 100);
        if (page < 8 || page >= 16) need(at[page * PAGE] == (empty ? 0 : (char)(page + 1)), "around a hole");
    }
    /* It moves, and grows. */
    char *moved = mremap(at + 100 * PAGE, 100 * PAGE, BYTES, MREMAP_MAYMOVE);
    need(moved != MAP_FAILED, "mremap of a place");
    for (size_t page = 0; page < 100; page++) need(moved[page * PAGE] == (char)(page + 101), "what moved");
    for (size_t page = 100; page < PAGES; page++) need(moved[page * PAGE] == 0, "what was added");
    need(munmap(moved, BYTES) == 0 && munmap(at, 2 * BYTES) == 0, "given back");
    /* Two places, and what is between them, at once. */
    at = at_place(2, BYTES, BOTH, MAP_FIXED);
    need(mmap(at + BYTES, BYTES, BOTH, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED, "shared");
    need(mmap(at + 2 * BYTES, BYTES, BOTH, ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED, "behind it");
    memset(at, 7, 3 * BYTES);
    for (int way = 0; way < count; way++) check(way);
    need(mprotect(at, 3 * BYTES, PROT_READ) == 0 && mprotect(at, 3 * BYTES, BOTH) == 0, "three");
    for (size_t page = 0; page < 3 * PAGES; page++) need(at[page * PAGE + page] == 7, "all three");
    need(madvise(at, 3 * BYTES, MADV_DONTNEED) == 0 && at[0] == 0 && at[BYTES] == 7 && at[2 * BYTES] == 0, "advice");
    need(munmap(at, 3 * BYTES) == 0, "given back");
}

static volatile sig_atomic_t signals;
static char signals_stack[4 << 20] __attribute__((aligned(PAGE)));

static void count_signal(int number) {
    (void)number;
    signals++;
    free(malloc(100000));
}

/* A stack in static data: a signal's handler runs there, and asks for memory. */
static void static_stack(void) {
    stack_t stack = {.ss_sp = signals_stack, .ss_size = sizeof signals_stack}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_ONSTACK};
    need(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0, "a stack for signals");
    for (int turn = 0; turn < 20; turn++) {
        for (int way = 0; way < count; way++) check(way);
        need(raise(SIGUSR1) == 0 && signals == turn + 1, "a signal");
    }
    need(sigaltstack(&none, NULL) == 0, "no stack");
}

static void emptied(void) {
    char *at = mmap(NULL, BYTES, BOTH, ANONYMOUS, -1, 0);
    memset(at, 3, BYTES);
    need(madvise(at, BYTES, MADV_HUGEPAGE) == 0 || 1, "huge pages");
    need(syscall(SYS_madvise, at, BYTES / 2, MADV_DONTNEED) == 0, "advice by number");
    need(at[0] == 0 && at[BYTES / 2] == 3, "MADV_DONTNEED");
    need(madvise(at + BYTES / 2, PAGE, MADV_WIPEONFORK) == 0, "MADV_WIPEONFORK");
    pid_t child = fork();
    if (child == 0) {
        for (int way = 0; way < count; way++) check(way);
        _exit(at[BYTES / 2] == 0 && at[BYTES / 2 + PAGE] == 3 ? 0 : 9);
    }
    int status;
    need(waitpid(child, &status, 0) == child && status == 0, "a child");
    need(at[BYTES / 2] == 3 && munmap(at, BYTES) == 0, "what a child wipes");
    child = vfork();
    if (child == 0) execl("/bin/true", "true", NULL), _exit(1);
    need(waitpid(child, &status, 0) == child && status == 0, "vfork");
}

int main(void) {
    allocations();
    mappings();
    moved();
    for (int way = 0; way < count; way++) check(way);
    for (int way = 9; way < count; way++) taken_away(way);
    code();
    file();
    chosen();
    static_stack();
    emptied();
    uint64_t digest = 0;
    for (int turn = 0; turn < 2; turn++)
        for (int way = 0; way < count; way++) {
            check(way);
            digest = digest * 31 + ways[way][(PAGES - 1) * WORDS + (PAGES - 1) % WORDS];
        }
    printf("%d ways, %016lx\n", count, digest);
    return 0;
}
