// A flood of random system calls with random arguments: the program may die of it, the machine and its host may not.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096L
#define SCRATCH (16 * PAGE)

static uint64_t state;

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void call(long number, const long *a) {
    long result;
    register long fourth asm("r10") = a[3];
    register long fifth asm("r8") = a[4];
    register long sixth asm("r9") = a[5];
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                 : "rcx", "r11", "memory");
}

// Calls that end or stop the program at once, or take its memory away: they would only shorten the flood.
static int ends_early(long number) {
    static const long list[] = {SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_pause, SYS_rt_sigsuspend, SYS_munmap,
                                SYS_clone, SYS_clone3, SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo,
                                SYS_rt_tgsigqueueinfo, SYS_arch_prctl, SYS_brk, SYS_mprotect, SYS_pkey_mprotect,
                                SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_alarm, SYS_setitimer, SYS_ppoll,
                                SYS_pselect6, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_rt_sigtimedwait};
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
        if (number == list[i]) return 1;
    return 0;
}

// Calls that may wait: few of them, or the flood is a trickle.
static int may_wait(long number) {
    static const long list[] = {SYS_read,  SYS_poll,      SYS_select,         SYS_epoll_wait,
                                SYS_futex, SYS_nanosleep, SYS_clock_nanosleep};
    for (unsigned i = 0; i < sizeof list / sizeof *list; i++)
        if (number == list[i]) return 1;
    return 0;
}

static long argument(char *scratch) {
    switch (next() % 8) {
    case 0:
    case 1: return (long)scratch + next() % SCRATCH;
    case 2: return next() % 16;
    case 3: return 1L << (next() % 64);
    case 4: return next() % 5000;
    case 5: return (long)scratch + next() % 20 * PAGE;
    case 6: return -(long)(next() % 200);
    default: return next();
    }
}

int main(int count, char **arguments) {
    state = strtoul(arguments[1], NULL, 10) * 2654435761u | 1;
    // A call that waits for ever is the program's own end.
    alarm(3);
    char *scratch = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long left = strtol(arguments[2], NULL, 10); left > 0; left--) {
        long number = next() % 460, a[6];
        for (int i = 0; i < 6; i++) a[i] = argument(scratch);
        if (ends_early(number) || (may_wait(number) && next() % 50)) continue;
        if (number == SYS_mmap) a[3] &= ~MAP_FIXED;
        if (number == SYS_mremap) a[3] &= ~MREMAP_FIXED;
        *(volatile long *)(scratch + next() % 512 * 8) = a[next() % 6];
        call(number, a);
        if (next() % 64 == 0)
            scratch = mmap(NULL, SCRATCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (scratch == MAP_FAILED) return 5;
    }
    return 0;
}
