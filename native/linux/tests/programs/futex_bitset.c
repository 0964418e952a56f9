#include "check.h"
static int entry, a, order[3], n;
static void *waiter(void *x) {
    int i = (long)x;
    syscall(SYS_futex, &entry, FUTEX_WAIT_BITSET, 0, NULL, NULL, 1 << i);
    order[n] = i;
    __atomic_add_fetch(&n, 1, __ATOMIC_SEQ_CST);
    return NULL;
}
int main(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, waiter, (void *)i);
    gather(&entry, &a, 3);
    int bits[] = {8, 4, 1, 2}, woken[] = {0, 1, 2, 3};
    for (int i = 0; i < 4; i++) {
        CALL(syscall(SYS_futex, &a, FUTEX_WAKE_BITSET, 9, NULL, NULL, bits[i]));
        await(&n, woken[i]);
    }
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    printf("%d %d %d\n", order[0], order[1], order[2]);
    return 0;
}
