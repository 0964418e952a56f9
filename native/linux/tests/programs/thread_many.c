#include "check.h"
static __thread int own = 7;
static pthread_key_t key;
static int destroyed;
static void gone(void *p) { __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST); }
static void *work(void *x) { own += (long)x; pthread_setspecific(key, x); sched_yield(); return (void *)(long)own; }
int main(void) {
    pthread_key_create(&key, gone);
    long sum = 0;
    for (int round = 0; round < 10; round++) {
        pthread_t t[20];
        for (long i = 0; i < 20; i++) if (pthread_create(&t[i], NULL, work, (void *)(i + 1))) return 9;
        for (int i = 0; i < 20; i++) { void *r; pthread_join(t[i], &r); sum += (long)r; }
    }
    SHOW(sum);
    SHOW(own);
    SHOW(destroyed);
    return 0;
}
