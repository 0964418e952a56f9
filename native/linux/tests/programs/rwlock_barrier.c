#include "check.h"
#include <semaphore.h>
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t b;
static sem_t s;
static long value, seen;
static void *work(void *x) {
    for (int i = 0; i < 500; i++) {
        if ((i + (long)x) % 3 == 0) { pthread_rwlock_wrlock(&l); value++; pthread_rwlock_unlock(&l); }
        else { pthread_rwlock_rdlock(&l); __atomic_add_fetch(&seen, value >= 0, __ATOMIC_SEQ_CST); pthread_rwlock_unlock(&l); }
    }
    pthread_barrier_wait(&b);
    sem_post(&s);
    return NULL;
}
int main(void) {
    pthread_t t[4];
    pthread_barrier_init(&b, NULL, 4);
    sem_init(&s, 0, 0);
    for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++) sem_wait(&s);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    SHOW(value + seen);
    CALL(sem_trywait(&s));
    return 0;
}
