#include "check.h"
// Threads that spin on each other without a system call.
static volatile int turn;
static void *other(void *x) { for (int i = 0; i < 20; i++) { while (turn != 1) {} turn = 0; } return NULL; }
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    for (int i = 0; i < 20; i++) { turn = 1; while (turn != 0) {} }
    pthread_join(t, NULL);
    puts("both turned 20 times");
    return 0;
}
