#include "check.h"
int main(void) {
    char *start = sbrk(0);
    CALL((char *)sbrk(10000) - start);
    start[9999] = 1;
    SHOW(start[0]);
    CALL(brk(start + 100));
    CALL((char *)sbrk(0) - start);
    CALL(brk(start + 3 * PAGE));
    SHOW(start[2 * PAGE + 5]);
    CALL(brk((void *)(1L << 62)));
    SHOW((char *)sbrk(0) - start == 3 * PAGE);
    CALL(brk(start));
    return 0;
}
