#include "check.h"
int main(void) {
    char *p = pages(5, PROT_READ | PROT_WRITE);
    memset(p, 3, 5 * PAGE);
    CALL(madvise(p + PAGE, 2 * PAGE, MADV_DONTNEED));
    for (int i = 0; i < 5; i++) SHOW(p[i * PAGE + 5]);
    p[PAGE] = 8;
    SHOW(p[PAGE] + p[PAGE + 1]);
    CALL(madvise(p + 1, PAGE, MADV_DONTNEED));
    CALL(madvise(p, 0, MADV_DONTNEED));
    CALL(madvise(p, PAGE, 12345));
    CALL(madvise(p, PAGE, MADV_NORMAL));
    CALL(madvise(p, PAGE, MADV_WILLNEED));
    CALL(madvise(p, PAGE, MADV_RANDOM));
    munmap(p + 2 * PAGE, PAGE);
    CALL(madvise(p, 5 * PAGE, MADV_DONTNEED));
    SHOW(p[0] + p[4 * PAGE]);
    CALL(madvise(p, 5 * PAGE, MADV_NORMAL));
    return 0;
}
