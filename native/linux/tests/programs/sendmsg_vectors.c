#include "check.h"
int main(void) {
    int s[2];
    char a[4] = {0}, b[10] = {0};
    socketpair(AF_UNIX, SOCK_STREAM, 0, s);
    struct iovec out[3] = {{"one", 3}, {"", 0}, {"twothree", 8}};
    struct msghdr m = {.msg_iov = out, .msg_iovlen = 3};
    CALL(sendmsg(s[0], &m, 0));
    struct iovec in[2] = {{a, 3}, {b, 9}};
    struct msghdr r = {.msg_iov = in, .msg_iovlen = 2, .msg_flags = 77};
    CALL(recvmsg(s[1], &r, 0));
    printf("%s %s %d %zu\n", a, b, r.msg_flags, r.msg_controllen);
    m.msg_iovlen = 5000;
    CALL(sendmsg(s[0], &m, 0));
    CALL(writev(s[0], out, 3));
    CALL(readv(s[1], in, 2));
    CALL(writev(s[0], out, 2000));
    CALL(writev(s[0], (void *)8, 1));
    out[0].iov_len = -1L;
    CALL(writev(s[0], out, 2));
    int value = -1; socklen_t length = 4;
    CALL(getsockopt(s[0], SOL_SOCKET, SO_TYPE, &value, &length)); SHOW(value);
    CALL(getsockopt(s[0], SOL_SOCKET, SO_ERROR, &value, &length)); SHOW(value);
    return 0;
}
