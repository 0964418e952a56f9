#include "check.h"
static int depth, deepest, log_[10], n;
static void inner(int s) { log_[n++] = s; }
static void outer(int s) {
    depth++; if (depth > deepest) deepest = depth;
    log_[n++] = s;
    raise(SIGUSR2);
    if (s == SIGUSR1 && n < 5) raise(SIGUSR1); // blocked while this runs
    log_[n++] = -s;
    depth--;
}
int main(void) {
    struct sigaction a = {.sa_handler = outer}, b = {.sa_handler = inner};
    sigaction(SIGUSR1, &a, NULL); sigaction(SIGUSR2, &b, NULL);
    raise(SIGUSR1);
    for (int i = 0; i < n; i++) printf("%d ", log_[i]);
    printf("deepest %d\n", deepest);
    n = 0;
    a.sa_flags = SA_NODEFER | SA_RESETHAND;
    sigaction(SIGUSR1, &a, NULL);
    signal(SIGUSR2, SIG_IGN);
    n = 9;
    struct sigaction old;
    log_[9] = 0; n = 5;
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &old);
    SHOW(old.sa_handler == SIG_DFL);
    sigaddset(&b.sa_mask, SIGUSR1);
    return 0;
}
