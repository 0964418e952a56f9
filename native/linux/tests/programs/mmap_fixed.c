#include "check.h"
int main(void) {
    char *p = pages(8, PROT_READ | PROT_WRITE);
    memset(p, 7, 8 * PAGE);
    char *q = mmap(p + 2 * PAGE, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    SHOW(q - p);
    for (int i = 0; i < 8; i++) printf("page %d: %d\n", i, p[i * PAGE + 17]);
    CALL(munmap(p + 3 * PAGE, PAGE));
    q = mmap(p + 3 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    SHOW(q - p);
    SHOW(q[0]);
    CALL(munmap(p, 8 * PAGE));
    return 0;
}
