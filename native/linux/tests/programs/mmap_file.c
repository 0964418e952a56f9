#include "check.h"
int main(void) {
    char name[] = "/tmp/mayfly-XXXXXX";
    int fd = mkstemp(name);
    char text[5000];
    for (int i = 0; i < 5000; i++) text[i] = 'a' + i % 26;
    CALL(write(fd, text, sizeof text));
    char *p = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    SHOW(memcmp(p, text, 5000));
    SHOW(p[5000] + p[8191]);
    char *q = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
    SHOW(q[0] == text[4096]);
    q[0] = '!';
    char c;
    CALL(pread(fd, &c, 1, 4096));
    SHOW(c == text[4096]);
    CALL(madvise(q, PAGE, MADV_DONTNEED));
    SHOW(q[0] == text[4096]);
    int readonly = open(name, O_RDONLY);
    PLACE(mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, readonly, 0));
    int writeonly = open(name, O_WRONLY);
    PLACE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, writeonly, 0));
    CALL(close(fd));
    SHOW(p[3] == text[3]);
    CALL(unlink(name));
    SHOW(p[4999] == text[4999]);
    return 0;
}
