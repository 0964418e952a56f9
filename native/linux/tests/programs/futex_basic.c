#include "check.h"
static int word = 5;
static long fx(int op, int v, void *t, int *w2, int v3) { return syscall(SYS_futex, &word, op, v, t, w2, v3); }
int main(void) {
    struct timespec t = {0, 3000000};
    CALL(fx(FUTEX_WAIT, 4, NULL, NULL, 0));
    CALL(fx(FUTEX_WAIT, 5, &t, NULL, 0));
    CALL(fx(FUTEX_WAKE, 10, NULL, NULL, 0));
    CALL(fx(FUTEX_WAIT_BITSET, 5, &t, NULL, 1));
    CALL(fx(FUTEX_WAIT_BITSET, 5, &t, NULL, 0));
    CALL(fx(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 5, &t, NULL, 1));
    CALL(fx(FUTEX_WAKE_BITSET, 5, NULL, NULL, 0));
    CALL(fx(FUTEX_CMP_REQUEUE, 1, (void *)1, &word, 99));
    CALL(fx(FUTEX_CMP_REQUEUE, 1, (void *)1, &word, 5));
    t.tv_nsec = 1000000000;
    CALL(fx(FUTEX_WAIT, 5, &t, NULL, 0));
    t.tv_nsec = 0; t.tv_sec = -1;
    CALL(fx(FUTEX_WAIT, 5, &t, NULL, 0));
    CALL(syscall(SYS_futex, 1, FUTEX_WAIT, 0, NULL));
    CALL(syscall(SYS_futex, 8, FUTEX_WAIT, 0, NULL));
    CALL(fx(FUTEX_WAIT, 5, (void *)8, NULL, 0));
    CALL(fx(99, 5, NULL, NULL, 0));
    int other = 7;
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1, &other, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 7)));
    SHOW(other);
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1, &other, FUTEX_OP(FUTEX_OP_OR, 5, FUTEX_OP_CMP_GT, -3)));
    SHOW(other);
    return 0;
}
