#include "check.h"
int main(void) {
    char b[64];
    int n = open("/dev/null", O_RDWR), z = open("/dev/zero", O_RDWR), f = open("/dev/full", O_RDWR), r = open("/dev/urandom", O_RDONLY);
    CALL(read(n, b, 64)); CALL(write(n, b, 64)); memset(b, 1, 64); CALL(read(z, b, 64)); SHOW(b[0] + b[63]); CALL(write(z, b, 10)); CALL(read(f, b, 8)); CALL(write(f, b, 8)); CALL(read(r, b, 64));
    int same = 1; for (int i = 1; i < 64; i++) same &= b[i] == b[0]; SHOW(same);
    CALL(lseek(n, 10, SEEK_SET)); CALL(ioctl(n, TCGETS, b)); CALL(isatty(n)); struct stat s; CALL(fstat(n, &s)); SHOW(S_ISCHR(s.st_mode));
    CALL(ftruncate(n, 0)); PLACE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, n, 0)); char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, z, 0); SHOW(p[9]); p[9] = 1; SHOW(p[9]);
    CALL(fsync(n) == 0 || errno == EINVAL); CALL(fsync(-1)); CALL(open("/dev/null/x", O_RDONLY)); CALL(open("/dev/null", O_DIRECTORY));
    return 0;
}
