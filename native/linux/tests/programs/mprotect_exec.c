#include "check.h"
#include <setjmp.h>
static sigjmp_buf back;
static void on(int s, siginfo_t *i, void *c) { siglongjmp(back, i->si_code + 10 * s); }
int main(void) {
    struct sigaction a = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &a, NULL);
    unsigned char *p = pages(1, PROT_READ | PROT_WRITE);
    memcpy(p, "\xb8\x2a\x00\x00\x00\xc3", 6); // mov $42, %eax; ret
    int (*f)(void) = (void *)p;
    int r = sigsetjmp(back, 1);
    if (!r) SHOW(f());
    SHOW(r);
    CALL(mprotect(p, PAGE, PROT_READ | PROT_EXEC));
    SHOW(f());
    CALL(mprotect(p, PAGE, PROT_READ | PROT_WRITE));
    p[1] = 43;
    CALL(mprotect(p, PAGE, PROT_READ | PROT_EXEC));
    SHOW(f());
    for (int i = 0; i < 200; i++) {
        mprotect(p, PAGE, PROT_READ | PROT_WRITE);
        p[1] = i;
        mprotect(p, PAGE, PROT_READ | PROT_EXEC);
        if (f() != i) { printf("stale code at %d\n", i); return 1; }
    }
    puts("fresh code each time");
    return 0;
}
