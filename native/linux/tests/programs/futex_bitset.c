#include "check.h"
static int a, started, order[3], n;
static void *waiter(void *x) {
    int i = (long)x;
    __atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &a, FUTEX_WAIT_BITSET, 0, NULL, NULL, 1 << i);
    order[__atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST)] = i;
    return NULL;
}
int main(void) {
    pthread_t t[3];
    for (long i = 0; i < 3; i++) pthread_create(&t[i], NULL, waiter, (void *)i);
    while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < 3) sched_yield();
    usleep(20000);
    int bits[] = {8, 4, 1, 2};
    for (int i = 0; i < 4; i++) { CALL(syscall(SYS_futex, &a, FUTEX_WAKE_BITSET, 9, NULL, NULL, bits[i])); usleep(5000); }
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    printf("%d %d %d\n", order[0], order[1], order[2]);
    return 0;
}
