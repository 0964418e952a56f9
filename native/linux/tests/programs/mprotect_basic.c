#include "check.h"
#include <setjmp.h>
static sigjmp_buf back;
static void on(int s, siginfo_t *i, void *c) { siglongjmp(back, i->si_code + 10 * s); }
static int store(char *p) { int r = sigsetjmp(back, 1); if (!r) *(volatile char *)p = 9; return r; }
static int load(char *p) { int r = sigsetjmp(back, 1); if (!r) { volatile char c = *(volatile char *)p; (void)c; } return r; }
int main(void) {
    struct sigaction a = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &a, NULL);
    char *p = pages(4, PROT_READ | PROT_WRITE);
    SHOW(store(p + PAGE));
    CALL(mprotect(p + PAGE, PAGE, PROT_READ));
    SHOW(load(p + PAGE));
    SHOW(store(p + PAGE));
    SHOW(store(p + 2 * PAGE));
    CALL(mprotect(p, 4 * PAGE, PROT_NONE));
    for (int i = 0; i < 4; i++) SHOW(load(p + i * PAGE));
    CALL(mprotect(p, 4 * PAGE, PROT_READ | PROT_WRITE));
    SHOW(p[PAGE]);
    SHOW(store(p + 3 * PAGE));
    CALL(munmap(p, PAGE));
    SHOW(load(p));
    CALL(mprotect(p, PAGE, PROT_READ));
    CALL(mprotect(p + 1, PAGE, PROT_READ));
    CALL(mprotect(p + PAGE, 0, PROT_READ));
    CALL(mprotect(p + PAGE, PAGE, 0x100));
    CALL(mprotect(p + PAGE, 100 * PAGE, PROT_READ) == -1);
    return 0;
}
