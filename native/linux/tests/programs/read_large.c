// More than one piece of work for each call: counts are whole, offsets and contents right, and what lies behind the end of memory
// ends a call as on Linux.
#include "check.h"
#include <sys/random.h>
#define MIB (1L << 20)
static long sum(const unsigned char *at, long count) { long sum = 0; for (long i = 0; i < count; i++) sum = sum * 31 + at[i]; return sum; }
int main(void) {
    unsigned char *a = pages(8 * MIB / PAGE, PROT_READ | PROT_WRITE), *b = pages(8 * MIB / PAGE, PROT_READ | PROT_WRITE);
    for (long i = 0; i < 5 * MIB; i++) a[i] = i * 7 + i / 4096;
    int fd = memfd_create("x", 0);
    CALL(write(fd, a, 5 * MIB)); CALL(lseek(fd, 0, SEEK_CUR)); CALL(pread(fd, b, 8 * MIB, 3)); SHOW(memcmp(a + 3, b, 5 * MIB - 3)); CALL(lseek(fd, 1, SEEK_SET)); CALL(read(fd, b, 3 * MIB)); SHOW(memcmp(a + 1, b, 3 * MIB)); CALL(lseek(fd, 0, SEEK_CUR)); CALL(read(fd, b, 3 * MIB)); CALL(read(fd, b, 3 * MIB));
    // A thousand parts, of a page each and a hole between.
    static struct iovec v[1024];
    for (int i = 0; i < 1024; i++) v[i] = (struct iovec){b + 2 * i * PAGE, i % 3 ? PAGE : 0};
    CALL(preadv(fd, v, 1000, 5)); SHOW(sum(b, 8 * MIB) != 0); long at = 5, wrong = 0; for (int i = 0; i < 1000; i++) { wrong += memcmp(v[i].iov_base, a + at, v[i].iov_len) != 0; at += v[i].iov_len; } SHOW(wrong); SHOW(at);
    CALL(pwritev(fd, v, 1000, 100)); CALL(pread(fd, a, 5 * MIB, 0)); at = 100, wrong = 0; for (int i = 0; i < 1000; i++) { wrong += memcmp(v[i].iov_base, a + at, v[i].iov_len) != 0; at += v[i].iov_len; } SHOW(wrong);
    int append = open("/tmp/read_large", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600); unlink("/tmp/read_large");
    CALL(write(append, a, 1 * MIB)); CALL(write(append, a, 2 * MIB)); CALL(lseek(append, 0, SEEK_END)); CALL(pread(append, b, 3 * MIB, MIB)); SHOW(memcmp(a, b, 2 * MIB));
    int zero = open("/dev/zero", O_RDWR), random = open("/dev/urandom", O_RDONLY), null = open("/dev/null", O_RDWR);
    CALL(read(zero, b, 4 * MIB)); SHOW(sum(b, 4 * MIB)); CALL(read(random, b, 2 * MIB)); SHOW(b[MIB] | b[MIB + 1] | b[MIB + 2] | b[MIB + 3] | b[MIB + 4] ? 1 : 0); CALL(getrandom(b, MIB, 0)); CALL(write(null, b, 8 * MIB)); CALL(writev(null, v, 1024)); CALL(read(null, b, 8 * MIB)); CALL(readv(zero, v, 1024)); CALL(readv(random, v, 1024));
    // Memory that ends on the way.
    munmap(b + 2 * MIB, 6 * MIB);
    CALL(pread(fd, b, 4 * MIB, 0)); CALL(read(zero, b, 4 * MIB)); CALL(pread(fd, b + 2 * MIB, 4 * MIB, 0)); CALL(read(zero, b, -1)); CALL(write(fd, b, -1)); CALL(read(zero, (void *)-4096, PAGE)); v[0] = (struct iovec){a, PAGE}; v[1] = (struct iovec){(void *)-4096, 8192}; CALL(readv(zero, v, 2)); CALL(writev(null, v, 2)); v[1] = (struct iovec){a, -1}; CALL(writev(null, v, 2)); CALL(getrandom(b, -1, 0));
    return 0;
}
