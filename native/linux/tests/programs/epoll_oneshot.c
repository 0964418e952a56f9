#include "check.h"
int main(void) {
    int e = epoll_create1(0), f = eventfd(1, EFD_NONBLOCK), g = eventfd(1, EFD_NONBLOCK);
    struct epoll_event v = {EPOLLIN | EPOLLONESHOT, {.u32 = 1}}, out[4];
    epoll_ctl(e, EPOLL_CTL_ADD, f, &v);
    CALL(epoll_wait(e, out, 4, 0));
    CALL(epoll_wait(e, out, 4, 0));
    CALL(epoll_ctl(e, EPOLL_CTL_MOD, f, &v));
    CALL(epoll_wait(e, out, 4, 0));
    v.events = EPOLLIN; v.data.u32 = 2;
    epoll_ctl(e, EPOLL_CTL_ADD, g, &v);
    CALL(epoll_wait(e, out, 4, 0));
    SHOW(out[0].data.u32);
    int d = dup(g);
    close(g);
    CALL(epoll_wait(e, out, 4, 0));
    close(d);
    CALL(epoll_wait(e, out, 4, 0));
    // More files ready than room: every one has its turn.
    int fds[6], seen[6] = {0};
    for (int i = 0; i < 6; i++) { fds[i] = eventfd(1, 0); v.data.u32 = i; epoll_ctl(e, EPOLL_CTL_ADD, fds[i], &v); }
    for (int i = 0; i < 3; i++) { int n = epoll_wait(e, out, 2, 0); for (int j = 0; j < n; j++) seen[out[j].data.u32]++; }
    for (int i = 0; i < 6; i++) printf("%d ", seen[i]);
    puts("");
    int n = open("/dev/null", O_RDONLY), t = open("/proc/self/maps", O_RDONLY);
    char name[] = "/tmp/mayfly-XXXXXX";
    int r = mkstemp(name);
    unlink(name);
    CALL(epoll_ctl(e, EPOLL_CTL_ADD, r, &v));
    (void)n; (void)t;
    return 0;
}
