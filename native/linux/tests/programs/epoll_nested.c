#include "check.h"
int main(void) {
    int a = epoll_create1(0), b = epoll_create1(EPOLL_CLOEXEC), f = eventfd(0, EFD_NONBLOCK);
    struct epoll_event v = {EPOLLIN, {.u32 = 1}}, out[4];
    CALL(epoll_ctl(a, EPOLL_CTL_ADD, b, &v));
    CALL(epoll_ctl(b, EPOLL_CTL_ADD, a, &v));
    CALL(epoll_ctl(b, EPOLL_CTL_ADD, f, &v));
    CALL(epoll_wait(a, out, 4, 0));
    uint64_t one = 1;
    write(f, &one, 8);
    CALL(epoll_wait(a, out, 4, 0));
    struct pollfd p = {a, POLLIN, 0};
    CALL(poll(&p, 1, 0)); SHOW(p.revents);
    read(f, &one, 8);
    CALL(poll(&p, 1, 0));
    CALL(fcntl(a, F_DUPFD_CLOEXEC, 100));
    write(f, &one, 8);
    CALL(epoll_wait(100, out, 4, 0));
    CALL(close(a));
    CALL(epoll_wait(100, out, 4, 0));
    CALL(read(b, out, 8));
    return 0;
}
