#include "check.h"
static void *work(void *x) { unsigned seed = (long)x; void *held[50] = {0}; long sum = 0; for (int i = 0; i < 3000; i++) { int k = rand_r(&seed) % 50; free(held[k]); size_t n = 1 + rand_r(&seed) % (i % 100 == 0 ? 300000 : 2000); held[k] = malloc(n); memset(held[k], k, n); sum += ((char *)held[k])[n - 1]; } for (int i = 0; i < 50; i++) free(held[i]); return (void *)sum; }
int main(void) { pthread_t t[4]; for (long i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, (void *)(i + 1)); for (int i = 0; i < 4; i++) { void *r; pthread_join(t[i], &r); SHOW((long)r); } return 0; }
