#include "check.h"
static int f;
static void *wake(void *x) { struct timespec t = {0, 20000000}; nanosleep(&t, NULL); uint64_t one = 1; write(f, &one, 8); return NULL; }
static long ms(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000 + t.tv_nsec / 1000000; }
int main(void) {
    int e = epoll_create1(0);
    f = eventfd(0, EFD_NONBLOCK);
    struct epoll_event v = {EPOLLIN, {.u32 = 1}}, out[4];
    epoll_ctl(e, EPOLL_CTL_ADD, f, &v);
    long start = ms();
    CALL(epoll_wait(e, out, 4, 30));
    SHOW(ms() - start >= 30);
    pthread_t t;
    pthread_create(&t, NULL, wake, NULL);
    CALL(epoll_wait(e, out, 4, 60000));
    SHOW(out[0].events);
    pthread_join(t, NULL);
    uint64_t n;
    read(f, &n, 8);
    start = ms();
    struct timespec w = {0, 10000000};
    CALL(syscall(SYS_epoll_pwait2, e, out, 4, &w, NULL, 8));
    SHOW(ms() - start >= 10);
    w.tv_nsec = 2000000000;
    CALL(syscall(SYS_epoll_pwait2, e, out, 4, &w, NULL, 8));
    return 0;
}
