#include "check.h"
int main(void) {
    int p[2];
    static char b[100000];
    pipe2(p, O_NONBLOCK);
    CALL(write(p[1], b, sizeof b));
    CALL(write(p[1], b, 1));
    CALL(read(p[0], b, 4095));
    struct pollfd f = {p[1], POLLOUT, 0};
    CALL(read(p[0], b, 1));
    CALL(poll(&f, 1, 0));
    SHOW(f.revents);
    CALL(write(p[1], b, 4096));
    CALL(write(p[1], b, 10));
    long sum = 0, n;
    while ((n = read(p[0], b, sizeof b)) > 0) sum += n;
    SHOW(sum);
    CALL(fcntl(p[0], F_GETPIPE_SZ));
    return 0;
}
