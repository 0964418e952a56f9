#include "check.h"
int main(void) {
    int t = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    uint64_t n = 0;
    struct itimerspec s = {{0, 0}, {100, 0}}, old;
    CALL(read(t, &n, 8));
    CALL(timerfd_settime(t, 0, &s, NULL));
    CALL(timerfd_gettime(t, &old));
    SHOW(old.it_value.tv_sec > 0 && old.it_value.tv_sec <= 100);
    s.it_value = (struct timespec){0, 5000000};
    CALL(timerfd_settime(t, 0, &s, NULL));
    struct pollfd f = {t, POLLIN, 0};
    CALL(poll(&f, 1, 60000)); SHOW(f.revents);
    CALL(read(t, &n, 8)); SHOW(n);
    CALL(read(t, &n, 8));
    s.it_interval.tv_nsec = 1000000;
    CALL(timerfd_settime(t, 0, &s, NULL));
    usleep(12000);
    CALL(read(t, &n, 8)); SHOW(n >= 2);
    struct itimerspec zero = {0};
    CALL(timerfd_settime(t, 0, &zero, &old));
    SHOW(old.it_interval.tv_nsec);
    CALL(poll(&f, 1, 0));
    s.it_value.tv_nsec = 1000000000;
    CALL(timerfd_settime(t, 0, &s, NULL));
    CALL(timerfd_create(77, 0));
    CALL(timerfd_settime(0, 0, &zero, NULL) == -1);
    CALL(timerfd_settime(999, 0, &zero, NULL));
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int r = timerfd_create(CLOCK_REALTIME, 0);
    struct itimerspec at = {{0, 0}, now};
    at.it_value.tv_sec -= 1;
    CALL(timerfd_settime(r, TFD_TIMER_ABSTIME, &at, NULL));
    CALL(read(r, &n, 8)); SHOW(n);
    return 0;
}
