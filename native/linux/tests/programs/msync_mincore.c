#include "check.h"
int main(void) {
    char *p = pages(3, PROT_READ | PROT_WRITE);
    unsigned char v[3];
    p[0] = 1;
    CALL(mincore(p, PAGE, v));
    SHOW(v[0] & 1);
    CALL(mincore(p + 1, PAGE, v));
    CALL(mincore(p, 3 * PAGE, (void *)8));
    CALL(msync(p, PAGE, MS_SYNC));
    CALL(msync(p + 1, PAGE, MS_SYNC));
    munmap(p, 3 * PAGE);
    CALL(mincore(p, PAGE, v));
    CALL(msync(p, PAGE, MS_SYNC));
    CALL(mlock(&p, 8));
    CALL(munlock(&p, 8));
    return 0;
}
