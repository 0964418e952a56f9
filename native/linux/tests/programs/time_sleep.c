#include "check.h"
static long ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
int main(void) {
    struct timespec t = {0, 15000000};
    long a = ns(); CALL(nanosleep(&t, NULL)); SHOW(ns() - a >= 15000000);
    a = ns(); CALL(clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL)); SHOW(ns() - a >= 15000000);
    long at = ns() + 10000000; struct timespec u = {at / 1000000000, at % 1000000000}; CALL(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &u, NULL)); SHOW(ns() >= at); CALL(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &u, NULL)); t.tv_nsec = -1; CALL(nanosleep(&t, NULL)); t.tv_nsec = 1000000000; CALL(nanosleep(&t, NULL)); t.tv_nsec = 0; t.tv_sec = -1; CALL(nanosleep(&t, NULL)); CALL(nanosleep((void *)8, NULL)); CALL(clock_nanosleep(99, 0, &u, NULL)); t.tv_sec = 0; CALL(nanosleep(&t, NULL)); CALL(usleep(100)); CALL(sched_yield()); clock_gettime(CLOCK_REALTIME, &u); u.tv_sec -= 5; CALL(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &u, NULL));
    return 0;
}
