#include "check.h"
static int main_thread = 1;
// The kernel writes 0 there when the thread is gone.
static void *late(void *x) { while (__atomic_load_n(&main_thread, __ATOMIC_SEQ_CST)) sched_yield(); puts("late thread"); fflush(stdout); _exit(4); }
int main(void) {
    pthread_t t;
    syscall(SYS_set_tid_address, &main_thread);
    pthread_create(&t, NULL, late, NULL);
    puts("main ends");
    fflush(stdout);
    syscall(SYS_exit, 0);
    return 0;
}
