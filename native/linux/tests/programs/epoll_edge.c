#include "check.h"
int main(void) {
    int e = epoll_create1(0), p[2];
    pipe2(p, O_NONBLOCK);
    struct epoll_event v = {EPOLLIN | EPOLLET, {.u32 = 1}}, out[4];
    write(p[1], "a", 1);
    CALL(epoll_ctl(e, EPOLL_CTL_ADD, p[0], &v));
    CALL(epoll_wait(e, out, 4, 0));
    CALL(epoll_wait(e, out, 4, 0));
    write(p[1], "b", 1);
    CALL(epoll_wait(e, out, 4, 0));
    CALL(epoll_wait(e, out, 4, 0));
    char b[10];
    CALL(read(p[0], b, 1));
    CALL(epoll_wait(e, out, 4, 0));
    CALL(epoll_ctl(e, EPOLL_CTL_MOD, p[0], &v));
    CALL(epoll_wait(e, out, 4, 0));
    CALL(epoll_wait(e, out, 4, 0));
    CALL(read(p[0], b, 10));
    write(p[1], "c", 1);
    read(p[0], b, 10);
    CALL(epoll_wait(e, out, 4, 0));
    close(p[1]);
    CALL(epoll_wait(e, out, 4, 0));
    SHOW(out[0].events);
    CALL(epoll_wait(e, out, 4, 0));
    int f = eventfd(0, EFD_NONBLOCK);
    v.data.u32 = 2;
    epoll_ctl(e, EPOLL_CTL_ADD, f, &v);
    uint64_t one = 1;
    for (int i = 0; i < 3; i++) { write(f, &one, 8); CALL(epoll_wait(e, out, 4, 0)); SHOW(out[0].data.u32); }
    CALL(epoll_wait(e, out, 4, 0));
    return 0;
}
