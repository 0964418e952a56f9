#include "check.h"
int main(void) {
    char *p = pages(4, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 4; i++) p[i * PAGE] = i + 1;
    CALL((char *)mremap(p, 4 * PAGE, 2 * PAGE, 0) - p);
    char *q = mremap(p, 2 * PAGE, 600 * PAGE, MREMAP_MAYMOVE);
    SHOW(q != MAP_FAILED);
    SHOW(q[0] + 10 * q[PAGE] + 100 * q[2 * PAGE]);
    q[599 * PAGE] = 5;
    char *to = pages(8, PROT_NONE);
    char *r = mremap(q, 600 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + PAGE);
    SHOW(r - to);
    SHOW(r[0] + 10 * r[PAGE] + 100 * r[2 * PAGE]);
    PLACE(mremap(r, 3 * PAGE, 0, 0));
    PLACE(mremap(r + 1, PAGE, PAGE, 0));
    PLACE(mremap(r, 3 * PAGE, 4 * PAGE, MREMAP_FIXED));
    PLACE(mremap(r, 3 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, r + PAGE));
    char *hole = pages(3, PROT_READ);
    munmap(hole + PAGE, PAGE);
    PLACE(mremap(hole, 3 * PAGE, 4 * PAGE, MREMAP_MAYMOVE));
    munmap(hole, 3 * PAGE);
    PLACE(mremap(hole, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
    return 0;
}
