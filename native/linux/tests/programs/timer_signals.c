#include "check.h"
static volatile sig_atomic_t ticks, code, content, overruns;
static timer_t of_signal;
static void on(int signal, siginfo_t *info, void *context) {
    ticks++, code = info->si_code, content = info->si_value.sival_int, overruns = info->si_overrun;
}
static timer_t make(clockid_t clock, int notify, int signal, int value) {
    struct sigevent event = {.sigev_notify = notify, .sigev_signo = signal, .sigev_value.sival_int = value};
    event._sigev_un._tid = gettid();
    timer_t timer = (timer_t)-1;
    printf("make %d %d %d = ", clock, notify, signal);
    if (timer_create(clock, &event, &timer)) printf("%s\n", strerrorname_np(errno));
    else puts("made");
    return timer;
}
static struct itimerspec every(long first, long interval) {
    return (struct itimerspec){{interval / 1000000000, interval % 1000000000}, {first / 1000000000, first % 1000000000}};
}
static void await_ticks(int count) {
    sigset_t none, all;
    sigemptyset(&none), sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    while (ticks < count) sigsuspend(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}
int main(void) {
    struct sigaction action = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL), sigaction(SIGRTMIN + 3, &action, NULL);
    struct itimerspec set, old, none = every(0, 0);

    // Once, and again and again, to the process and to this thread.
    int ways[] = {SIGEV_SIGNAL, 4}, signals[] = {SIGUSR1, SIGRTMIN + 3};
    for (int i = 0; i < 4; i++) {
        timer_t timer = make(i & 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, ways[i / 2], signals[i & 1], 40 + i);
        ticks = 0, set = every(2000000, 0);
        CALL(timer_settime(timer, 0, &set, NULL));
        await_ticks(1);
        SHOW(code == SI_TIMER), SHOW(content), SHOW(overruns), SHOW(timer_getoverrun(timer));
        CALL(timer_gettime(timer, &old));
        SHOW(old.it_value.tv_sec + old.it_value.tv_nsec), SHOW(old.it_interval.tv_nsec);
        usleep(5000);
        SHOW(ticks);
        ticks = 0, set = every(1000000, 2000000);
        CALL(timer_settime(timer, 0, &set, NULL));
        await_ticks(4);
        CALL(timer_settime(timer, 0, &none, &old));
        SHOW(old.it_interval.tv_nsec), SHOW(old.it_value.tv_nsec > 0 && old.it_value.tv_nsec <= 2000000);
        int before = ticks;
        usleep(8000);
        SHOW(ticks - before);
        CALL(timer_delete(timer));
    }

    // Absolute times, also of the past.
    for (int clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++) {
        timer_t timer = make(clock, SIGEV_SIGNAL, SIGUSR1, 7);
        ticks = 0, clock_gettime(clock, &set.it_value), set.it_interval = none.it_interval;
        set.it_value.tv_sec += 100;
        CALL(timer_settime(timer, TIMER_ABSTIME, &set, NULL));
        CALL(timer_gettime(timer, &old));
        SHOW(old.it_value.tv_sec >= 99 && old.it_value.tv_sec <= 100), SHOW(ticks);
        set.it_value.tv_sec -= 100, set.it_interval.tv_sec = 1000;
        CALL(timer_settime(timer, TIMER_ABSTIME, &set, &old));
        SHOW(old.it_value.tv_sec > 90);
        await_ticks(1);
        SHOW(ticks), SHOW(overruns);
        CALL(timer_delete(timer));
    }

    // What a blocked signal stands for, and one of a timer that is set anew or deleted.
    sigset_t blocked;
    sigemptyset(&blocked), sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    of_signal = make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 9);
    set = every(1000000, 1000000);
    CALL(timer_settime(of_signal, 0, &set, NULL));
    usleep(20000);
    siginfo_t info;
    SHOW(sigwaitinfo(&blocked, &info) == SIGUSR1);
    SHOW(info.si_code == SI_TIMER), SHOW(info.si_value.sival_int), SHOW(info.si_overrun >= 15);
    SHOW(timer_getoverrun(of_signal) == info.si_overrun);
    CALL(timer_delete(of_signal));

    // One that only counts.
    timer_t silent = make(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0);
    set = every(3000000, 50000000000);
    CALL(timer_settime(silent, 0, &set, NULL));
    usleep(6000);
    CALL(timer_gettime(silent, &old));
    SHOW(old.it_value.tv_sec > 40), SHOW(old.it_interval.tv_sec);
    set = every(1000000, 0);
    CALL(timer_settime(silent, 0, &set, &old));
    usleep(4000);
    CALL(timer_gettime(silent, &old));
    SHOW(old.it_value.tv_nsec), SHOW(timer_getoverrun(silent));
    CALL(timer_delete(silent));

    // Errors.
    make(77, SIGEV_SIGNAL, SIGUSR1, 0), make(CLOCK_MONOTONIC_RAW, SIGEV_SIGNAL, SIGUSR1, 0);
    make(CLOCK_MONOTONIC, 77, SIGUSR1, 0), make(CLOCK_MONOTONIC, SIGEV_SIGNAL, 0, 0);
    make(CLOCK_MONOTONIC, SIGEV_SIGNAL, 65, 0), make(CLOCK_MONOTONIC, SIGEV_SIGNAL, -1, 0);
    int id;
    struct sigevent elsewhere = {.sigev_notify = 4, .sigev_signo = SIGUSR1};
    elsewhere._sigev_un._tid = 1;
    CALL(syscall(SYS_timer_create, CLOCK_MONOTONIC, &elsewhere, &id));
    CALL(syscall(SYS_timer_create, CLOCK_MONOTONIC, 8, &id));
    CALL(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, 8));
    CALL(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id));
    set = every(1000000, 0), set.it_value.tv_nsec = 1000000000;
    CALL(syscall(SYS_timer_settime, id, 0, &set, NULL));
    set.it_value.tv_nsec = 0, set.it_value.tv_sec = -1;
    CALL(syscall(SYS_timer_settime, id, 0, &set, NULL));
    CALL(syscall(SYS_timer_settime, id, 0, NULL, NULL));
    CALL(syscall(SYS_timer_settime, id, 0, 8, NULL));
    CALL(syscall(SYS_timer_gettime, id, 8));
    CALL(syscall(SYS_timer_delete, id));
    CALL(syscall(SYS_timer_delete, id)); CALL(syscall(SYS_timer_gettime, id, &old));
    CALL(syscall(SYS_timer_getoverrun, id)); CALL(syscall(SYS_timer_settime, id, 0, &none, NULL));
    CALL(syscall(SYS_timer_getoverrun, -1));
    return 0;
}
