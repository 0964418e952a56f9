#include "check.h"
int main(void) {
    int p[2];
    pipe(p);
    fd_set r, w;
    FD_ZERO(&r); FD_ZERO(&w); FD_SET(p[0], &r); FD_SET(p[1], &w);
    struct timeval t = {0, 0};
    CALL(select(p[1] + 1, &r, &w, NULL, &t));
    SHOW(FD_ISSET(p[0], &r)); SHOW(!!FD_ISSET(p[1], &w));
    write(p[1], "x", 1);
    FD_SET(p[0], &r);
    CALL(select(p[1] + 1, &r, NULL, NULL, NULL));
    SHOW(!!FD_ISSET(p[0], &r));
    FD_ZERO(&r);
    t.tv_usec = 2000;
    CALL(select(0, NULL, NULL, NULL, &t));
    CALL(select(-1, NULL, NULL, NULL, &t));
    close(p[1]);
    FD_SET(p[1], &r);
    CALL(select(p[1] + 1, &r, NULL, NULL, &t));
    struct timespec s = {0, 1000};
    CALL(pselect(0, NULL, NULL, NULL, &s, NULL));
    return 0;
}
