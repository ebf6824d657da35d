#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Numbers stay in vector registers across system calls, switches, signals, faults and forks. */
static volatile int wrong;

static void check(double number, long call)
{
    double before[2] = { number, -number }, after[2];
    long result = call;

    __asm__ volatile("movupd (%1), %%xmm15\n\tsyscall\n\tmovupd %%xmm15, (%2)"
             : "+a"(result) : "r"(before), "r"(after)
             : "rcx", "r11", "xmm15", "memory");
    if (after[0] != number || after[1] != -number)
        wrong++;
}

/* The 32nd register of 512 bits: a signal's frame needs room for all of it. */
__attribute__((target("avx512f"))) static void check_wide(long signal)
{
    double before[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, after[8];
    long result = SYS_tgkill, thread = syscall(SYS_gettid), process = getpid();

    __asm__ volatile("vmovupd (%4), %%zmm31\n\tsyscall\n\tvmovupd %%zmm31, (%5)"
             : "+a"(result)
             : "D"(process), "S"(thread), "d"(signal), "r"(before), "r"(after)
             : "rcx", "r11", "xmm31", "memory");
    for (int i = 0; i < 8; i++)
        if (after[i] != before[i])
            wrong++;
}

__attribute__((target("avx512f"))) static void spoil_wide(void)
{
    __asm__ volatile("vpternlogd $255, %%zmm31, %%zmm31, %%zmm31" : : : "xmm31");
}

static void on_alarm(int signal)
{
    if (__builtin_cpu_supports("avx512f"))
        spoil_wide();
    check(1e9 + signal, SYS_sched_yield);
}

static void *thread(void *number)
{
    for (int i = 0; i < 2000; i++) {
        check((long)number * 1e6 + i, i % 3 ? SYS_sched_yield : SYS_getpid);
        if (i % 50 == 0) {
            char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            double kept = i * 1.5;

            __asm__ volatile("movsd %0, %%xmm14\n\tmovb $1, (%1)\n\tmovsd %%xmm14, %0"
                     : "+m"(kept) : "r"(page) : "xmm14", "memory");
            if (kept != i * 1.5)
                wrong++;
            munmap(page, 4096);
        }
        if (i % 400 == 0)
            kill(getpid(), SIGALRM);
        if (i % 400 == 200 && __builtin_cpu_supports("avx512f"))
            check_wide(SIGALRM);
    }
    return NULL;
}

static int all(long of)
{
    pthread_t threads[3];

    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, thread, (void *)(of * 10 + i));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return wrong;
}

int main(void)
{
    int status, failed = 0;

    signal(SIGALRM, on_alarm);
    for (long i = 1; i < 4; i++) {
        /* A child has the registers that its parent had. */
        double before = i * 7.5, after;
        long child = SYS_fork;

        __asm__ volatile("movsd %1, %%xmm13\n\tsyscall\n\tmovsd %%xmm13, %2"
                 : "+a"(child) : "m"(before), "m"(after) : "rcx", "r11", "xmm13", "memory");
        if (after != before)
            wrong++;
        if (child == 0)
            exit(all(i) != 0);
    }
    failed += all(0);
    while (wait(&status) > 0)
        failed += status != 0;
    printf("%d wrong\n", failed);
    return failed != 0;
}
