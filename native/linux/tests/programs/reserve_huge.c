#include "check.h"
int main(void) {
    long size = 48L << 30;
    char *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    SHOW(p != MAP_FAILED);
    CALL(mprotect(p + size / 2, 16 * PAGE, PROT_READ | PROT_WRITE));
    memset(p + size / 2, 1, 16 * PAGE);
    SHOW(p[size / 2 + 5]);
    CALL(mprotect(p, size, PROT_NONE));
    CALL(mprotect(p, size, PROT_READ));
    SHOW(p[size / 2 + 5] + p[0] + p[size - 1]);
    CALL(munmap(p + PAGE, size - 2 * PAGE));
    CALL(munmap(p, PAGE));
    CALL(munmap(p + size - PAGE, PAGE));
    return 0;
}
