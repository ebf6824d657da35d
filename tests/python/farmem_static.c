/* A program whose memory is checked, to be linked statically: it prints a digest that must be the same wherever its memory is.
 *
 * Threads read and write at random, a child sees the parent's memory and changes its own, mappings are moved, cut and emptied.
 * Each page holds what follows from its number, so that a wrong one is found where it is. Last comes the most anonymous memory
 * that was local to a process, in bytes, as /proc says.
 *
 *     farmem_static MEGABYTES
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, WORDS = PAGE / 8, THREADS = 3 };

static uint64_t *memory;
static size_t pages;
static long local_most;

static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void need(int so, const char *what, size_t where) {
    if (!so) {
        printf("wrong: %s at %zu\n", what, where);
        fflush(stdout);
        _exit(1);
    }
}

/* What a word holds in its so-manieth version. */
static uint64_t word(size_t page, size_t at, uint64_t version) {
    return mixed(page * WORDS + at + (version << 40));
}

static void fill(uint64_t *to, size_t page, uint64_t version) {
    for (size_t at = 0; at < WORDS; at++) to[at] = word(page, at, version);
}

static void look(void) {
    char line[256];
    long kilobytes;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "RssAnon: %ld", &kilobytes) == 1 && kilobytes * 1024 > local_most) local_most = kilobytes * 1024;
    if (status) fclose(status);
}

/* Each thread has every third page: writes it again, and checks another one of its own. */
static void *work(void *argument) {
    size_t me = (size_t)argument, own = pages / THREADS;
    unsigned char *version = calloc(own, 1);
    for (size_t turn = 0; turn < 3 * own; turn++) {
        size_t one = mixed(turn * THREADS + me) % own, other = mixed(~turn + me) % own;
        fill(memory + (one * THREADS + me) * WORDS, one, ++version[one]);
        uint64_t *page = memory + (other * THREADS + me) * WORDS;
        for (size_t at = 0; at < WORDS; at += 37)
            need(page[at] == (version[other] ? word(other, at, version[other]) : 0), "a thread's page", other);
        if (turn % 2000 == 0 && me == 0) look();
    }
    free(version);
    return NULL;
}

static uint64_t digest(void) {
    uint64_t sum = 0;
    for (size_t at = 0; at < pages * WORDS; at++) sum = mixed(sum ^ memory[at]);
    return sum;
}

static void *mapped(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    need(at != MAP_FAILED, "mmap", bytes);
    return at;
}

static void children(void) {
    uint64_t before = digest();
    for (int child = 0; child < 2; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            need(digest() == before, "what a child sees", child);
            for (size_t page = child; page < pages; page += 5) fill(memory + page * WORDS, page, 7 + child);
            for (size_t page = child; page < pages; page += 5)
                need(memory[page * WORDS + 9] == word(page, 9, 7 + child), "what a child wrote", page);
            _exit(0);
        }
        int status;
        need(waitpid(pid, &status, 0) == pid && status == 0, "a child", child);
    }
    need(digest() == before, "what a child left alone", 0);
}

static void mappings(void) {
    size_t count = pages / 4;
    uint64_t *at = mapped(count * PAGE);
    for (size_t page = 0; page < count; page++) fill(at + page * WORDS, page, 3);
    at = mremap(at, count * PAGE, 2 * count * PAGE, MREMAP_MAYMOVE);
    need(at != MAP_FAILED, "mremap", count);
    need(!madvise(at, 8 * PAGE, MADV_DONTNEED), "madvise", 8);
    need(!munmap(at + 16 * WORDS, 8 * PAGE), "munmap", 16);
    uint64_t *sweep = mapped(pages * PAGE);
    for (size_t page = 0; page < pages; page++) fill(sweep + page * WORDS, page, 4);
    munmap(sweep, pages * PAGE);
    for (size_t page = 0; page < 2 * count; page++) {
        if (page >= 16 && page < 24) continue;
        uint64_t expected = page < 8 || page >= count ? 0 : word(page, 11, 3);
        need(at[page * WORDS + 11] == expected, "a mapping's page", page);
    }
}

int main(int count, char **arguments) {
    pages = (count > 1 ? strtoul(arguments[1], NULL, 10) : 8) * 256;
    memory = mapped(pages * PAGE);
    pthread_t threads[THREADS];
    for (size_t me = 0; me < THREADS; me++) pthread_create(&threads[me], NULL, work, (void *)me);
    for (size_t me = 0; me < THREADS; me++) pthread_join(threads[me], NULL);
    look();
    children();
    look();
    mappings();
    look();
    printf("%016lx\n%ld\n", (unsigned long)digest(), local_most);
    return 0;
}
