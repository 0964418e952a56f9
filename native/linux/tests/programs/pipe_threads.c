#include "check.h"
static int p[2];
static void *writer(void *x) {
    char b[5000];
    for (int i = 0; i < 100; i++) { memset(b, i, sizeof b); write(p[1], b, sizeof b); }
    close(p[1]);
    return NULL;
}
int main(void) {
    pipe(p);
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    char b[777];
    long sum = 0, total = 0, n;
    while ((n = read(p[0], b, sizeof b)) > 0) { total += n; for (int i = 0; i < n; i++) sum += b[i]; }
    pthread_join(t, NULL);
    SHOW(total);
    SHOW(sum);
    return 0;
}
