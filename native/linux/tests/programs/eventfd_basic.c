#include "check.h"
int main(void) {
    uint64_t v;
    int fd = eventfd(3, EFD_NONBLOCK);
    CALL(read(fd, &v, 8)); SHOW(v);
    CALL(read(fd, &v, 8));
    v = 5; CALL(write(fd, &v, 8));
    v = 7; CALL(write(fd, &v, 8));
    CALL(read(fd, &v, 8)); SHOW(v);
    CALL(read(fd, &v, 7));
    CALL(write(fd, &v, 7));
    v = -1; CALL(write(fd, &v, 8));
    v = -2; CALL(write(fd, &v, 8));
    v = 1; CALL(write(fd, &v, 8));
    struct pollfd f = {fd, POLLIN | POLLOUT, 0};
    CALL(poll(&f, 1, 0)); SHOW(f.revents);
    int s = eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE);
    CALL(read(s, &v, 8)); SHOW(v);
    CALL(read(s, &v, 8));
    CALL(read(s, &v, 8));
    CALL(eventfd(0, 0x40000000));
    CALL(lseek(fd, 0, SEEK_SET));
    CALL(pread(fd, &v, 8, 0));
    return 0;
}
