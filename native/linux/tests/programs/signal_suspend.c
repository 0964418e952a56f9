#include "check.h"
static volatile int got;
static void on(int s) { got = s; }
int main(void) {
    signal(SIGUSR1, on); signal(SIGALRM, on);
    sigset_t block, none;
    sigemptyset(&block); sigaddset(&block, SIGUSR1); sigemptyset(&none);
    sigprocmask(SIG_BLOCK, &block, NULL);
    raise(SIGUSR1);
    SHOW(got);
    CALL(sigsuspend(&none));
    SHOW(got);
    sigprocmask(SIG_BLOCK, NULL, &none);
    SHOW(sigismember(&none, SIGUSR1));
    raise(SIGUSR1);
    siginfo_t info;
    CALL(sigwaitinfo(&block, &info)); SHOW(info.si_signo);
    struct timespec t = {0, 5000000};
    CALL(sigtimedwait(&block, &info, &t));
    union sigval v = {.sival_int = 42};
    CALL(sigqueue(getpid(), SIGUSR1, v));
    CALL(sigtimedwait(&block, &info, &t)); SHOW(info.si_value.sival_int); SHOW(info.si_code);
    // It repeats: a first alarm may come before the pause.
    struct itimerval i = {{0, 10000}, {0, 10000}}, o;
    CALL(setitimer(ITIMER_REAL, &i, NULL));
    CALL(getitimer(ITIMER_REAL, &o)); SHOW(o.it_value.tv_sec);
    CALL(pause());
    SHOW(got == SIGALRM);
    i.it_value.tv_usec = 0;
    CALL(setitimer(ITIMER_REAL, &i, NULL));
    CALL(alarm(100)); unsigned left = alarm(0); SHOW(left > 0 && left <= 100);
    sigemptyset(&none);
    raise(SIGUSR1);
    CALL(ppoll(NULL, 0, &t, &none));
    SHOW(got == SIGUSR1);
    return 0;
}
