#include "check.h"
static void on(int s) { puts("not reached"); }
int main(void) {
    signal(SIGSEGV, on);
    sigset_t s;
    sigfillset(&s);
    sigprocmask(SIG_BLOCK, &s, NULL);
    puts("before"); fflush(stdout);
    *(volatile int *)8 = 1;
    return 0;
}
