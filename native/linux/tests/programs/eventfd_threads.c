#include "check.h"
static int ping, pong;
static void *other(void *x) {
    uint64_t v;
    for (int i = 0; i < 1000; i++) { read(ping, &v, 8); v *= 2; write(pong, &v, 8); }
    return NULL;
}
int main(void) {
    ping = eventfd(0, 0); pong = eventfd(0, 0);
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    uint64_t sum = 0, v;
    for (int i = 1; i <= 1000; i++) { v = i; write(ping, &v, 8); read(pong, &v, 8); sum += v; }
    pthread_join(t, NULL);
    SHOW(sum);
    return 0;
}
