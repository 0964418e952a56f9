#include "check.h"
int main(void) {
    int p[2];
    char b[100];
    CALL(pipe(p));
    CALL(write(p[1], "hello", 5));
    CALL(read(p[0], b, 2));
    CALL(read(p[0], b, 100));
    CALL(write(p[0], "x", 1));
    CALL(read(p[1], b, 1));
    CALL(write(p[1], b, 0));
    CALL(lseek(p[0], 0, SEEK_SET));
    CALL(pread(p[0], b, 1, 0));
    CALL(fcntl(p[0], F_GETFL));
    CALL(fcntl(p[1], F_GETFL));
    CALL(fcntl(p[0], F_SETFL, O_NONBLOCK));
    CALL(fcntl(p[0], F_GETFL));
    CALL(read(p[0], b, 1));
    int n;
    write(p[1], "abc", 3);
    CALL(ioctl(p[0], FIONREAD, &n));
    SHOW(n);
    CALL(close(p[1]));
    CALL(read(p[0], b, 100));
    CALL(read(p[0], b, 100));
    CALL(close(p[0]));
    CALL(close(p[0]));
    CALL(pipe2(p, 0x7000000));
    CALL(pipe2(p, O_NONBLOCK | O_CLOEXEC));
    CALL(fcntl(p[0], F_GETFD));
    struct stat s;
    CALL(fstat(p[0], &s));
    SHOW(S_ISFIFO(s.st_mode));
    return 0;
}
