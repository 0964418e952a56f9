#include "check.h"

// Timers of processor time, as profilers set them: they come while a program computes.
static volatile int virtual, prof, told;

static void count(int signal) {
    if (signal == SIGVTALRM) virtual++;
    else if (signal == SIGPROF) prof++;
    else told++;
}

static long ns(int clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void) {
    struct itimerval often = {{0, 10000}, {0, 10000}}, none = {0}, left;
    for (int signal = SIGVTALRM; signal <= SIGPROF; signal++) CALL(sigaction(signal, &(struct sigaction){.sa_handler = count}, NULL));
    CALL(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = count}, NULL));
    CALL(setitimer(ITIMER_VIRTUAL, &often, NULL));
    while (virtual < 3) continue;
    CALL(getitimer(ITIMER_VIRTUAL, &left));
    SHOW(left.it_interval.tv_usec);
    SHOW(left.it_value.tv_usec <= 20000);
    CALL(setitimer(ITIMER_VIRTUAL, &none, NULL));
    CALL(setitimer(ITIMER_PROF, &often, NULL));
    while (prof < 3) continue;
    CALL(setitimer(ITIMER_PROF, &none, &left));
    SHOW(left.it_interval.tv_usec);
    int before = virtual + prof;
    for (long end = ns(CLOCK_PROCESS_CPUTIME_ID) + 30000000; ns(CLOCK_PROCESS_CPUTIME_ID) < end;) continue;
    SHOW(virtual + prof - before);
    int clocks[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
    for (int i = 0; i < 2; i++) {
        timer_t timer;
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
        CALL(timer_create(clocks[i], &event, &timer));
        struct itimerspec set = {{0, 5000000}, {0, 5000000}}, now;
        CALL(timer_settime(timer, 0, &set, NULL));
        told = 0;
        while (told < 3) continue;
        CALL(timer_gettime(timer, &now));
        SHOW(now.it_interval.tv_nsec);
        // At a time of the clock, once.
        set = (struct itimerspec){{0, 0}, {0, ns(clocks[i]) % 1000000000}};
        set.it_value.tv_sec = ns(clocks[i]) / 1000000000;
        told = 0;
        CALL(timer_settime(timer, TIMER_ABSTIME, &set, NULL));
        while (told < 1) continue;
        CALL(timer_gettime(timer, &now));
        SHOW(now.it_value.tv_nsec + now.it_value.tv_sec);
        CALL(timer_delete(timer));
    }
    // What sleeps does not run.
    long ran = ns(CLOCK_PROCESS_CPUTIME_ID), began = ns(CLOCK_MONOTONIC);
    usleep(300000);
    SHOW(ns(CLOCK_MONOTONIC) - began >= 300000000);
    SHOW(ns(CLOCK_PROCESS_CPUTIME_ID) - ran < 300000000);
    clockid_t own, other;
    CALL(clock_getcpuclockid(getpid(), &own));
    CALL(pthread_getcpuclockid(pthread_self(), &other));
    SHOW(ns(own) > 0 && ns(other) > 0);
    struct timespec t;
    CALL(clock_gettime((clockid_t)-1, &t));
    CALL(clock_gettime((clockid_t)(~3999999 << 3 | 2), &t));
    CALL(clock_getres(own, &t));
    CALL(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0));
    CALL(setitimer(3, &often, NULL));
    return 0;
}
