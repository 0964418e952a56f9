#include "check.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static int queue[4], count, finished;
static long sum;
static void *consume(void *x) {
    for (;;) {
        pthread_mutex_lock(&m);
        while (!count && !finished) pthread_cond_wait(&full, &m);
        if (!count) { pthread_mutex_unlock(&m); return NULL; }
        sum += queue[--count];
        pthread_cond_signal(&empty);
        pthread_mutex_unlock(&m);
    }
}
int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, consume, NULL);
    for (int i = 1; i <= 5000; i++) {
        pthread_mutex_lock(&m);
        while (count == 4) pthread_cond_wait(&empty, &m);
        queue[count++] = i;
        pthread_cond_signal(&full);
        pthread_mutex_unlock(&m);
    }
    pthread_mutex_lock(&m); finished = 1; pthread_cond_broadcast(&full); pthread_mutex_unlock(&m);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    SHOW(sum);
    pthread_mutex_lock(&m);
    return 0;
}
