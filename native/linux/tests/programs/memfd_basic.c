#include "check.h"
int main(void) {
    int fd = memfd_create("thing", MFD_CLOEXEC);
    char b[10];
    SHOW(fd >= 0); CALL(fcntl(fd, F_GETFD)); CALL(write(fd, "hello", 5)); CALL(pread(fd, b, 10, 1)); CALL(ftruncate(fd, 9000)); struct stat s; CALL(fstat(fd, &s)); SHOW(s.st_size);
    char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0); SHOW(!memcmp(p, "hello", 5)); p[0] = 'j'; CALL(pread(fd, b, 1, 0)); SHOW(b[0]); SHOW(p[8999]); CALL(memfd_create("x", 0x4000)); CALL(memfd_create((void *)8, 0)); CALL(close(fd)); SHOW(p[1]);
    return 0;
}
