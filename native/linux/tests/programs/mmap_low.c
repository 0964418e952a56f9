#include "check.h"

// Hints that fit into 32 bits, as Lisp gives them, and MAP_32BIT, as PHP: where the mapping lies, not at which address.
static int flags = MAP_PRIVATE | MAP_ANONYMOUS;

static char *map(unsigned long hint, size_t length, int more) {
    return mmap((void *)hint, length, PROT_READ | PROT_WRITE, flags | more, -1, 0);
}

static int is_low(char *p) { return p >= (char *)0x40000000 && p < (char *)0x80000000; }

int main(void) {
    char *p = map(0x50000000, 4 * PAGE, 0);
    SHOW(p == (char *)0x50000000);
    memset(p, 5, 4 * PAGE);
    // Taken, in part or whole: it lies elsewhere, and nothing is lost.
    SHOW(map(0x50000000, PAGE, 0) == p);
    SHOW(map(0x50000000 - PAGE, 2 * PAGE, 0) == p - PAGE);
    SHOW(p[0] + p[4 * PAGE - 1]);
    SHOW(map(0x50000000 + 4 * PAGE, PAGE, 0) - p);
    // Not of whole pages.
    SHOW(map(0x51000123, 100, 0) == (char *)0x51000000);
    char *q = map(0, 1 << 20, MAP_32BIT);
    SHOW(is_low(q) && is_low(q + (1 << 20) - 1));
    q[0] = 1;
    SHOW(map(0x60000000, PAGE, MAP_32BIT) == (char *)0x60000000);
    SHOW(is_low(map(0x60000000, PAGE, MAP_32BIT)));
    // Beyond what it means.
    SHOW(is_low(map(0xc0000000, PAGE, MAP_32BIT)));
    SHOW(map(0xc0000000, PAGE, 0) == (char *)0xc0000000);
    SHOW(map(0, 0x40000000, MAP_32BIT | MAP_NORESERVE) == MAP_FAILED && errno == ENOMEM);
    SHOW(map(0, 0x7ffffffffffff000, MAP_32BIT) == MAP_FAILED && errno == ENOMEM);
    return 0;
}
