/* A program whose children have a copy of its memory: what they see in it is checked, and what they write stays theirs.
 *
 *     farmem_forks WAY     fork, _Fork, by-number, clone-by-number, clone3-by-number, clone, sbrk
 *
 * A library's handler (pthread_atfork(3)) may look at the memory before anything else of the child runs.
 */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 1500, PAGE = 4096 };
static char bss[PAGES * PAGE], *heap, stack[1 << 16];
static volatile int ended;

#ifdef LIBRARY
static char *kept;
static void look(void) {
    for (int page = 0; page < PAGES; page++)
        if (kept[page * PAGE] != (char)(page % 251 + 1)) _exit(3);
}
__attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, look); }
void keep(char *what) { kept = what; }
#else
void keep(char *what) __attribute__((weak));

static void fill(int more) {
    for (int page = 0; page < PAGES; page++) bss[page * PAGE] = heap[page * PAGE] = (char)(page % 251 + more);
}

static int wrong(void) {
    int wrong = 0;
    for (int page = 0; page < PAGES; page++) {
        wrong += bss[page * PAGE] != (char)(page % 251 + 1);
        wrong += heap[page * PAGE] != (char)(page % 251 + 1);
    }
    return wrong;
}

static int child(void *nothing) {
    (void)nothing;
    if (wrong()) _exit(1);
    fill(2);
    char *more = malloc(2 << 20);
    memset(more, 1, 2 << 20);
    free(more);
    if (sbrk(1 << 16) == (void *)-1) _exit(2);
    _exit(0);
}

static void *grows(void *nothing) {
    while (!ended) {
        sbrk(PAGE);
        sbrk(-PAGE);
    }
    return nothing;
}

static pid_t made(const char *way) {
    struct clone_args how = {.exit_signal = SIGCHLD};
    if (!strcmp(way, "_Fork")) return _Fork();
#ifdef SYS_fork
    if (!strcmp(way, "by-number")) return syscall(SYS_fork);
#endif
    if (!strcmp(way, "clone-by-number")) return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (!strcmp(way, "clone3-by-number")) return syscall(SYS_clone3, &how, sizeof how);
    if (!strcmp(way, "clone")) return clone(child, stack + sizeof stack, SIGCHLD, NULL);
    return fork();
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "fork";
    pthread_t thread;
    heap = malloc(PAGES * PAGE);
    fill(1);
    if (keep) keep(heap);
    if (!strcmp(way, "sbrk")) pthread_create(&thread, NULL, grows, NULL);
    for (int turn = 0; turn < (strcmp(way, "sbrk") ? 2 : 12); turn++) {
        pid_t pid = made(way);
        if (pid < 0) return 2;
        if (pid == 0) child(NULL);
        int status;
        if (waitpid(pid, &status, 0) != pid || status) {
            printf("a child ended with %x\n", status);
            return 1;
        }
        if (wrong()) return 3;
    }
    ended = 1;
    if (!strcmp(way, "sbrk")) pthread_join(thread, NULL);
    /* Where the new process shares the memory, and where the kernel has something to refuse. */
    int status;
    pid_t pid = clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    if (waitpid(pid, &status, 0) != pid || status || bss[0] != 2) return 4;
    if (syscall(SYS_clone3, NULL, 0) != -1) return 5;
    puts("done");
    return 0;
}
#endif
