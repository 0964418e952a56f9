#include "check.h"
static long ns(int c) { struct timespec t; if (clock_gettime(c, &t)) return -1; if (t.tv_nsec < 0 || t.tv_nsec > 999999999) return -2; return t.tv_sec * 1000000000 + t.tv_nsec; }
int main(void) {
    int ids[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
    for (int i = 0; i < 8; i++) { long last = 0, back = 0; for (int j = 0; j < 1000; j++) { long n = ns(ids[i]); if (n < last) back++; last = n; } printf("clock %d: %s, back %ld\n", ids[i], last > 0 ? "fine" : "bad", back); }
    // The vDSO and the system call read the same clock.
    long bad = 0; for (int i = 0; i < 200; i++) { long a = ns(CLOCK_MONOTONIC); struct timespec t; syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t); long b = t.tv_sec * 1000000000 + t.tv_nsec, c = ns(CLOCK_MONOTONIC); bad += a > b || b > c; } SHOW(bad);
    struct timeval v; CALL(gettimeofday(&v, NULL)); SHOW(labs(v.tv_sec - time(NULL)) <= 60); SHOW(labs(ns(CLOCK_REALTIME) / 1000000000 - v.tv_sec) <= 60); SHOW(v.tv_sec > 1600000000); CALL(clock_gettime(99, NULL)); struct timespec r; CALL(clock_getres(CLOCK_MONOTONIC, &r)); SHOW(r.tv_nsec); CALL(clock_getres(99, &r)); CALL(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, 8)); CALL(clock_getres(CLOCK_MONOTONIC, NULL)); SHOW(labs(syscall(SYS_time, NULL) - time(NULL)) <= 60); unsigned cpu = 9; CALL(syscall(SYS_getcpu, &cpu, NULL, NULL)); SHOW(cpu < 64); struct rusage u; CALL(getrusage(RUSAGE_SELF, &u)); CALL(getrusage(5, &u));
    return 0;
}
