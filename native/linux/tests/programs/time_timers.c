#include "check.h"
static volatile int ticks;
static void on(int s) { ticks++; }
int main(void) {
    signal(SIGALRM, on);
    struct itimerval i = {{0, 3000}, {0, 3000}}, o;
    CALL(setitimer(ITIMER_REAL, &i, NULL));
    while (ticks < 5) pause();
    struct itimerval z = {0};
    CALL(setitimer(ITIMER_REAL, &z, &o)); SHOW(o.it_interval.tv_usec); int before = ticks; usleep(15000); SHOW(ticks - before); i.it_value.tv_usec = 1000000; CALL(setitimer(ITIMER_REAL, &i, NULL)); CALL(setitimer(77, &i, NULL)); CALL(getitimer(77, &o)); CALL(getitimer(ITIMER_REAL, (void *)8)); SHOW(alarm(100)); unsigned left = alarm(0); SHOW(left > 0 && left <= 100);
    return 0;
}
