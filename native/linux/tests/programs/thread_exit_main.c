#include "check.h"
static void *late(void *x) { usleep(20000); puts("late thread"); fflush(stdout); _exit(4); }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, late, NULL);
    puts("main ends");
    fflush(stdout);
    syscall(SYS_exit, 0);
    return 0;
}
