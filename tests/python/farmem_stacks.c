/* A program whose code runs on stacks in memory of its own: coroutines', threads' and signals'. On each of them it asks for memory and gives it
 * back, which is work on the pages, while the pages of all these stacks come and go. What was on a stack is checked; a wrong page ends the program with a word
 * on standard output.
 *
 *     farmem_stacks TURNS
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, COROUTINES = 8, STACK = 256 << 10, DEPTH = 40, THREADS = 2, BLOCK = 6 << 20 };
static const int BOTH = PROT_READ | PROT_WRITE, ANONYMOUS = MAP_PRIVATE | MAP_ANONYMOUS;
static ucontext_t mains, all[COROUTINES];
static char *block;
static int turns;
static volatile sig_atomic_t signals;

static void need(int so, const char *what) {
    if (!so) {
        printf("wrong: %s\n", what);
        fflush(stdout);
        _exit(1);
    }
}

static void *memory(size_t bytes) {
    void *at = mmap(NULL, bytes, BOTH, ANONYMOUS, -1, 0);
    need(at != MAP_FAILED, "mmap");
    return at;
}

/* Work on pages: each call is one that may take the lock of whoever brings them. */
static void work(void) {
    char *at = memory(32 * PAGE);
    memset(at, 1, 32 * PAGE);
    need(madvise(at, 16 * PAGE, MADV_DONTNEED) == 0 && at[0] == 0 && at[16 * PAGE] == 1, "madvise");
    need(mprotect(at, 8 * PAGE, PROT_READ) == 0 && mprotect(at, 8 * PAGE, BOTH) == 0, "mprotect");
    need(munmap(at, 32 * PAGE) == 0, "munmap");
    char *large = calloc(1, 2 << 20);
    need(large[0] == 0, "calloc");
    large[0] = 1;
    free(large);
}

/* Goes down a page a call, works at the bottom, and checks on the way up. */
static void deep(int me, int depth) {
    volatile char here[PAGE];
    for (int at = 0; at < PAGE; at += 512) here[at] = (char)(me + depth + at / 512);
    if (depth == 0) {
        work();
        if (me < COROUTINES) {
            swapcontext(&all[me], &mains);
            work();
        }
    } else {
        deep(me, depth - 1);
    }
    for (int at = 0; at < PAGE; at += 512) need(here[at] == (char)(me + depth + at / 512), "a stack");
}

static void coroutine(int me) {
    for (;;) deep(me, DEPTH);
}

static void *thread(void *me) {
    for (int turn = 0; turn < turns; turn++) deep((int)(intptr_t)me, DEPTH);
    return me;
}

static void on_alarm(int number) {
    (void)number;
    char *at = memory(4 * PAGE);
    at[0] = 1;
    need(munmap(at, 4 * PAGE) == 0, "munmap for a signal");
    signals++;
}

static void sweep(void) {
    for (size_t at = 0; at < BLOCK; at += PAGE) block[at]++;
}

static void forked(int me) {
    pid_t child = fork();
    if (child == 0) {
        work();
        sweep();
        _exit(7);
    }
    int status;
    while (waitpid(child, &status, 0) < 0) {}
    need(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child of a coroutine");
    (void)me;
}

static void forks(void) {
    for (;;) {
        forked(0);
        swapcontext(&all[COROUTINES - 1], &mains);
    }
}

static void with_stack(int me, void (*body)(void)) {
    need(getcontext(&all[me]) == 0, "getcontext");
    all[me].uc_stack.ss_sp = me % 2 ? memory(STACK) : malloc(STACK);
    all[me].uc_stack.ss_size = STACK;
    all[me].uc_link = NULL;
    makecontext(&all[me], body, 1, me);
}

int main(int count, char **arguments) {
    turns = count > 1 ? atoi(arguments[1]) : 10;
    block = memory(BLOCK);
    sweep();
    stack_t own = {.ss_sp = malloc(16 * PAGE), .ss_size = 16 * PAGE};
    need(sigaltstack(&own, NULL) == 0, "sigaltstack");
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART};
    need(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
    for (int me = 0; me < COROUTINES - 1; me++) with_stack(me, (void (*)(void))coroutine);
    with_stack(COROUTINES - 1, forks);
    pthread_t threads[THREADS];
    for (int me = 0; me < THREADS; me++) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        void *stack = me % 2 ? memory(2 * STACK) : aligned_alloc(PAGE, 2 * STACK);
        need(pthread_attr_setstack(&attributes, stack, 2 * STACK) == 0, "pthread_attr_setstack");
        need(pthread_create(&threads[me], &attributes, thread, (void *)(intptr_t)(COROUTINES + me)) == 0, "a thread");
    }
    struct itimerval often = {{0, 700}, {0, 700}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int turn = 0; turn < turns; turn++)
        for (int me = 0; me < COROUTINES; me++) {
            swapcontext(&mains, &all[me]);
            if (me % 3 == 0) sweep();
        }
    for (int me = 0; me < THREADS; me++) need(pthread_join(threads[me], NULL) == 0, "pthread_join");
    need(signals > 0, "signals");
    printf("%d turns\n", turns);
    return 0;
}
