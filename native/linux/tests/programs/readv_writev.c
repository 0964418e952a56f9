#include "check.h"
int main(void) {
    int fd = memfd_create("x", 0);
    struct iovec o[3] = {{"abc", 3}, {NULL, 0}, {"defgh", 5}};
    CALL(writev(fd, o, 3)); CALL(pwritev(fd, o, 1, 6)); char a[2], b[20]; struct iovec i[2] = {{a, 2}, {b, 20}}; CALL(preadv(fd, i, 2, 0)); printf("%.2s %.7s\n", a, b); CALL(lseek(fd, 7, SEEK_SET)); CALL(readv(fd, i, 2)); CALL(readv(fd, i, 2)); CALL(readv(fd, i, -1)); CALL(readv(fd, i, 1025)); CALL(readv(-1, i, 1)); CALL(preadv(fd, i, 1, -1)); CALL(syscall(SYS_preadv2, fd, i, 2, 1L, 0L, 0)); CALL(syscall(SYS_preadv2, fd, i, 2, -1L, -1L, 0)); CALL(readv(fd, i, 0));
    i[1].iov_base = (void *)8; CALL(preadv(fd, i, 2, 0)); i[0].iov_base = (void *)8; CALL(preadv(fd, i, 2, 0));
    return 0;
}
