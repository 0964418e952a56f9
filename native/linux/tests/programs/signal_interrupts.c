#include "check.h"
static volatile int count;
static void on(int s) { count++; }
static pthread_t main_;
static volatile int over;
// Signals come until all waits are over: one that comes between two waits is not the last.
static void *poke(void *x) { while (!over) { usleep(10000); pthread_kill(main_, SIGUSR1); } return NULL; }
int main(void) {
    struct sigaction a = {.sa_handler = on};
    sigaction(SIGUSR1, &a, NULL);
    main_ = pthread_self();
    pthread_t t;
    int p[2];
    char b[4];
    pipe(p);
    pthread_create(&t, NULL, poke, NULL);
    CALL(read(p[0], b, 1));
    struct timespec w = {60, 0}, left = {0};
    CALL(nanosleep(&w, &left));
    SHOW(left.tv_sec >= 0 && left.tv_sec < 60);
    CALL(poll(NULL, 0, 60000));
    CALL(pause());
    a.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &a, NULL);
    CALL(poll(NULL, 0, 60000));
    struct timespec z = {0};
    int word = 0;
    CALL(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &w));
    over = 1;
    pthread_join(t, NULL);
    SHOW(count >= 6);
    (void)z;
    return 0;
}
