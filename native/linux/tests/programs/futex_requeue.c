#include "check.h"
static int entry, a, b, done;
static void *waiter(void *x) {
    syscall(SYS_futex, &entry, FUTEX_WAIT, 0, NULL, NULL, 0);
    __atomic_add_fetch(&done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}
int main(void) {
    pthread_t t[5];
    for (int i = 0; i < 5; i++) pthread_create(&t[i], NULL, waiter, NULL);
    gather(&entry, &a, 5);
    CALL(syscall(SYS_futex, &a, FUTEX_CMP_REQUEUE, 1, 2, &b, 0));
    await(&done, 1);
    SHOW(done);
    CALL(syscall(SYS_futex, &a, FUTEX_WAKE, 100));
    CALL(syscall(SYS_futex, &b, FUTEX_WAKE, 1));
    await(&done, 4);
    CALL(syscall(SYS_futex, &b, FUTEX_WAKE, 100));
    for (int i = 0; i < 5; i++) pthread_join(t[i], NULL);
    SHOW(done);
    return 0;
}
