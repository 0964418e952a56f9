#include "check.h"
static volatile int count, last, code;
static void on(int s, siginfo_t *i, void *c) { count++; last = s; code = i->si_code; }
int main(void) {
    struct sigaction a = {.sa_sigaction = on, .sa_flags = SA_SIGINFO}, old;
    CALL(sigaction(SIGUSR1, &a, NULL));
    CALL(raise(SIGUSR1)); SHOW(count); SHOW(last); SHOW(code);
    CALL(kill(getpid(), SIGUSR1)); SHOW(count); SHOW(code);
    CALL(sigaction(SIGUSR1, NULL, &old)); SHOW(old.sa_sigaction == on);
    CALL(sigaction(SIGKILL, &a, NULL));
    CALL(sigaction(SIGKILL, NULL, &old));
    CALL(sigaction(0, &a, NULL));
    CALL(sigaction(65, &a, NULL));
    CALL(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 4));
    sigset_t set, before;
    sigemptyset(&set); sigaddset(&set, SIGUSR1);
    CALL(sigprocmask(SIG_BLOCK, &set, &before));
    raise(SIGUSR1); raise(SIGUSR1);
    SHOW(count);
    sigpending(&before);
    SHOW(sigismember(&before, SIGUSR1));
    CALL(sigprocmask(SIG_UNBLOCK, &set, NULL));
    SHOW(count);
    CALL(sigprocmask(77, &set, NULL));
    CALL(sigprocmask(77, NULL, &before));
    SHOW(sigismember(&before, SIGUSR1));
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    sigprocmask(SIG_SETMASK, NULL, &before);
    SHOW(sigismember(&before, SIGKILL)); SHOW(sigismember(&before, SIGTERM));
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_IGN);
    sigpending(&before);
    SHOW(sigismember(&before, SIGUSR1));
    return 0;
}
