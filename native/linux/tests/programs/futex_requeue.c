#include "check.h"
static int a, b, started, done;
static void *waiter(void *x) {
    __atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &a, FUTEX_WAIT, 0, NULL, NULL, 0);
    __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}
int main(void) {
    pthread_t t[5];
    for (int i = 0; i < 5; i++) pthread_create(&t[i], NULL, waiter, NULL);
    while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < 5) sched_yield();
    usleep(20000);
    CALL(syscall(SYS_futex, &a, FUTEX_CMP_REQUEUE, 1, 2, &b, 0));
    usleep(10000);
    SHOW(done);
    CALL(syscall(SYS_futex, &a, FUTEX_WAKE, 100));
    CALL(syscall(SYS_futex, &b, FUTEX_WAKE, 1));
    CALL(syscall(SYS_futex, &b, FUTEX_WAKE, 100));
    for (int i = 0; i < 5; i++) pthread_join(t[i], NULL);
    SHOW(done);
    return 0;
}
