#include "check.h"
// A handler that edits the context: the faulting load is skipped with another result.
static void on(int s, siginfo_t *i, void *c) {
    ucontext_t *u = c;
    u->uc_mcontext.gregs[REG_RAX] = 1234;
    u->uc_mcontext.gregs[REG_RIP] += 3;
    volatile double x = 3.5;
    x *= 2;
}
static void fp(int s, siginfo_t *i, void *c) { __asm__ volatile("pxor %%xmm3, %%xmm3\n pxor %%xmm0, %%xmm0" ::: "xmm0", "xmm3"); }
int main(void) {
    struct sigaction a = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &a, NULL);
    long r;
    __asm__ volatile("mov $8, %%rcx\n xor %%eax, %%eax\n mov (%%rcx), %%rax" : "=a"(r)::"rcx", "memory");
    SHOW(r);
    a.sa_sigaction = fp;
    sigaction(SIGUSR1, &a, NULL);
    double in = 2.25, out;
    long pid = getpid();
    __asm__ volatile("movsd %1, %%xmm3\n mov $62, %%eax\n mov %2, %%rdi\n mov $10, %%esi\n syscall\n movsd %%xmm3, %0" : "=m"(out) : "m"(in), "r"(pid) : "rax", "rdi", "rsi", "rcx", "r11", "xmm3", "memory");
    SHOW(out * 100);
    unsigned long flags;
    __asm__ volatile("std\n mov $62, %%eax\n mov %1, %%rdi\n mov $10, %%esi\n syscall\n pushf\n pop %0\n cld" : "=r"(flags) : "r"(pid) : "rax", "rdi", "rsi", "rcx", "r11", "memory");
    SHOW(flags >> 10 & 1);
    return 0;
}
