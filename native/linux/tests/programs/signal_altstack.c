#include "check.h"
#include <setjmp.h>
static char stack[65536];
static sigjmp_buf back;
static volatile int on_stack;
static void on(int s, siginfo_t *i, void *c) { char here; on_stack = &here >= stack && &here < stack + sizeof stack; siglongjmp(back, 1); }
static long recurse(long n) { volatile char big[1000]; big[0] = n; return n == -1 ? 0 : recurse(n + 1) + big[0]; }
int main(void) {
    stack_t s = {stack, 0, sizeof stack}, old;
    CALL(sigaltstack(NULL, &old)); SHOW(old.ss_flags);
    CALL(sigaltstack(&s, NULL));
    CALL(sigaltstack(NULL, &old)); SHOW(old.ss_flags); SHOW(old.ss_size);
    struct sigaction a = {.sa_sigaction = on, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &a, NULL);
    if (!sigsetjmp(back, 1)) recurse(0);
    SHOW(on_stack);
    if (!sigsetjmp(back, 1)) recurse(0);
    puts("survived two stack overflows");
    s.ss_size = 100;
    CALL(sigaltstack(&s, NULL));
    s.ss_flags = 55;
    CALL(sigaltstack(&s, NULL));
    CALL(sigaltstack((void *)8, NULL));
    s.ss_flags = SS_DISABLE;
    CALL(sigaltstack(&s, NULL));
    CALL(sigaltstack(NULL, &old)); SHOW(old.ss_flags);
    return 0;
}
