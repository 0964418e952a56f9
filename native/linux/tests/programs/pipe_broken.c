#include "check.h"
static volatile int got;
static void on(int s) { got = s; }
int main(void) {
    int p[2];
    pipe(p);
    close(p[0]);
    signal(SIGPIPE, SIG_IGN);
    CALL(write(p[1], "x", 1));
    signal(SIGPIPE, on);
    CALL(write(p[1], "x", 1));
    SHOW(got);
    struct pollfd f = {p[1], POLLOUT, 0};
    CALL(poll(&f, 1, 0));
    SHOW(f.revents);
    signal(SIGPIPE, SIG_DFL);
    fflush(stdout);
    write(p[1], "x", 1);
    puts("not reached");
    return 0;
}
