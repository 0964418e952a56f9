#include "check.h"
int main(void) {
    size_t size = 200000;
    unsigned char *p = malloc(size);
    for (size_t i = 0; i < size; i++) p[i] = i * 7;
    for (int round = 0; round < 8; round++) {
        size_t grown = size * 2;
        p = realloc(p, grown);
        size_t bad = 0;
        for (size_t i = 0; i < size; i++) bad += p[i] != (unsigned char)(i * 7);
        for (size_t i = size; i < grown; i++) p[i] = i * 7;
        printf("round %d: %zu bad\n", round, bad);
        size = grown;
        if (round % 3 == 2) { size /= 4; p = realloc(p, size); }
    }
    free(p);
    return 0;
}
