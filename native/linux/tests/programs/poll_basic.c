#include "check.h"
int main(void) {
    int p[2];
    pipe(p);
    struct pollfd f[4] = {{p[0], POLLIN, 0}, {p[1], POLLOUT, 0}, {-1, POLLIN, 9}, {999, POLLIN, 0}};
    CALL(poll(f, 4, 0));
    for (int i = 0; i < 4; i++) SHOW(f[i].revents);
    CALL(poll(f, 1, 0)); CALL(poll(f, 1, 10)); SHOW(f[0].revents);
    write(p[1], "x", 1);
    CALL(poll(f, 1, -1)); SHOW(f[0].revents);
    f[0].events = 0;
    CALL(poll(f, 1, 0));
    close(p[1]);
    CALL(poll(f, 1, 0)); SHOW(f[0].revents);
    CALL(poll(NULL, 0, 5));
    CALL(poll((void *)8, 1, 0));
    CALL(poll(f, 1 << 30, 0));
    struct timespec t = {0, 1000000};
    f[0].fd = -1;
    CALL(ppoll(f, 1, &t, NULL));
    t.tv_nsec = -1;
    CALL(ppoll(f, 1, &t, NULL));
    int n = open("/dev/null", O_RDWR);
    struct pollfd g = {n, POLLIN | POLLOUT, 0};
    CALL(poll(&g, 1, -1)); SHOW(g.revents);
    return 0;
}
