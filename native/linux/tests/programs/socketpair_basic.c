#include "check.h"
int main(void) {
    int s[2];
    char b[100];
    CALL(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
    CALL(write(s[0], "hello", 5));
    CALL(recv(s[1], b, 100, MSG_PEEK));
    CALL(recv(s[1], b, 3, 0));
    CALL(recv(s[1], b, 100, 0));
    CALL(recv(s[1], b, 100, MSG_DONTWAIT));
    CALL(send(s[1], "back", 4, 0));
    CALL(read(s[0], b, 100));
    struct stat st;
    CALL(fstat(s[0], &st));
    SHOW(S_ISSOCK(st.st_mode));
    CALL(shutdown(s[0], SHUT_WR));
    CALL(read(s[1], b, 100));
    CALL(send(s[0], "x", 1, MSG_NOSIGNAL));
    CALL(write(s[1], "still", 5));
    CALL(read(s[0], b, 100));
    struct pollfd f = {s[1], POLLIN | POLLOUT | POLLRDHUP, 0};
    CALL(poll(&f, 1, 0)); SHOW(f.revents);
    CALL(close(s[0]));
    CALL(poll(&f, 1, 0)); SHOW(f.revents);
    CALL(read(s[1], b, 1));
    CALL(send(s[1], "x", 1, MSG_NOSIGNAL));
    CALL(socketpair(AF_INET, SOCK_STREAM, 0, s) == -1);
    CALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, s));
    CALL(recv(s[0], b, 1, 0));
    CALL(fcntl(s[0], F_GETFL) & O_NONBLOCK);
    CALL(fcntl(s[0], F_GETFD));
    CALL(recv(1000, b, 1, 0));
    int p[2];
    pipe(p);
    CALL(recv(p[0], b, 1, 0));
    return 0;
}
