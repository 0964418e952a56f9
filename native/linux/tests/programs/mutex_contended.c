#include "check.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static void *work(void *x) {
    for (int i = 0; i < 20000; i++) { pthread_mutex_lock(&m); counter++; if (i % 500 == 0) sched_yield(); pthread_mutex_unlock(&m); }
    return NULL;
}
int main(void) {
    pthread_t t[6];
    for (int i = 0; i < 6; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
    SHOW(counter);
    CALL(pthread_mutex_trylock(&m));
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += 5000000;
    if (at.tv_nsec >= 1000000000) { at.tv_sec++; at.tv_nsec -= 1000000000; }
    printf("timed lock: %s\n", strerrorname_np(pthread_mutex_timedlock(&m, &at)));
    return 0;
}
