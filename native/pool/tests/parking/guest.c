// A server of frames that talks with the host while a request is under way. A request's header says what it does.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "../support/serve.h"

static long counter;

// A message of exchange 1: no head, and `n` bytes of body.
static size_t message(uint8_t *into, size_t n) {
    uint8_t head[20] = {'M', 'A', 'Y', 'F', 1, 3, 0, 0, 4, 0, 0, 0, n, n >> 8, n >> 16, n >> 24, 1, 0, 0, 0};
    memcpy(into, head, 20);
    memset(into + 20, 'm', n);
    return 20 + n;
}

static void tell(size_t n) {
    static uint8_t frame[20 + (1 << 20)];
    all(1, frame, message(frame, n));
}

// Reads one message and gives the length of its body.
static size_t hear(void) {
    size_t have = 0, want = 20;
    while (have < want) {
        // Not what belongs to the next one.
        ssize_t n = read(0, in + have, want - have);
        if (n <= 0) _exit(91);
        have += n;
        if (have == 20) {
            uint32_t body;
            memcpy(&body, in + 12, 4);
            want = 20 + (size_t)body;
        }
    }
    return want - 20;
}

// Writes to each page of so many MiB: a compiler leaves out what nobody reads but this.
static void fill(long mib) {
    size_t end = (size_t)mib << 20;
    volatile char *kept = malloc(end);
    for (size_t at = 0; at < end; at += 4096) kept[at] = 7;
}

static void rest(long ms) {
    struct timespec s = {ms / 1000, ms % 1000 * 1000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &s, 0);
}

static void *listener(void *result) {
    *(size_t *)result = hear();
    return 0;
}

static void act(const char *what, size_t length) {
    char text[128];
    long n = 0;
    char name[64] = {0};
    sscanf(what, "%63s %ld", name, &n);
    if (!strcmp(name, "count")) {
        snprintf(text, sizeof text, "%ld", ++counter);
        say(text);
    } else if (!strcmp(name, "wait")) {
        // So many calls, one after the other.
        size_t sum = 0;
        for (long i = 0; i < n; i++) {
            counter++;
            tell(i);
            sum += hear();
        }
        snprintf(text, sizeof text, "%ld %zu", counter, sum);
        say(text);
    } else if (!strcmp(name, "warm")) {
        // With all memory that a request which only waits needs: one that is given more stays in its machine.
        counter++;
        tell(0);
        snprintf(text, sizeof text, "%ld %zu", --counter, hear());
        say(text);
    } else if (!strcmp(name, "dirty")) {
        fill(16);
        counter += 1000;
        open("/tmp/left", O_CREAT | O_RDWR, 0600);
        for (int i = 0; i < 10; i++) dup(0);
        tell(3);
        hear();
        say("dirtied");
    } else if (!strcmp(name, "poll") || !strcmp(name, "epoll")) {
        // Waits with a timeout, and counts how often it woke in vain.
        struct pollfd p = {0, POLLIN};
        struct epoll_event e = {EPOLLIN};
        int set = epoll_create1(0);
        epoll_ctl(set, EPOLL_CTL_ADD, 0, &e);
        long vain = 0;
        tell(0);
        while ((*name == 'p' ? poll(&p, 1, n) : epoll_wait(set, &e, 1, n)) == 0) vain++;
        snprintf(text, sizeof text, "%ld %zu", vain, hear());
        say(text);
    } else if (!strcmp(name, "thread")) {
        // A thread hears while another sleeps.
        pthread_t t;
        size_t heard = 0;
        tell(0);
        pthread_create(&t, 0, listener, &heard);
        rest(n);
        pthread_join(t, 0);
        snprintf(text, sizeof text, "%zu", heard);
        say(text);
    } else if (!strcmp(name, "sleep")) {
        // Does not read what the host says.
        tell(0);
        rest(n);
        say("slept");
    } else if (!strcmp(name, "tell")) {
        for (long i = 0; i < n; i++) tell(0);
        say("told");
    } else if (!strcmp(name, "burst")) {
        // Many in one write, then one answer is awaited.
        uint8_t *frames = malloc(n * 20);
        for (long i = 0; i < n; i++) message(frames + i * 20, 0);
        all(1, frames, n * 20);
        snprintf(text, sizeof text, "%zu", hear());
        say(text);
    } else if (!strcmp(name, "large")) {
        for (long i = 0; i < n; i++) tell(1 << 20);
        say("told");
    } else if (!strcmp(name, "with-answer")) {
        // A message and the answer leave together.
        uint8_t both[64] = {0};
        size_t end = message(both, 2);
        memcpy(both + end, "MAYF\1\2\0\0\2\0\0\0\3\0\0\0{}two", 21);
        all(1, both, end + 21);
    } else if (!strcmp(name, "after")) {
        say("answered");
        tell(1);
        hear();
    } else if (!strcmp(name, "half")) {
        all(1, "MAYF\1\3\0\0\4\0\0\0\0", 13);
        hear();
    } else if (!strcmp(name, "long-head")) {
        all(1, "MAYF\1\3\0\0\5\0\1\0\0\0\0\0", 16);
    } else if (!strcmp(name, "no-exchange")) {
        all(1, "MAYF\1\3\0\0\3\0\0\0\0\0\0\0abc", 19);
    } else if (!strcmp(name, "spin")) {
        tell(0);
        for (;;) {
        }
    } else if (!strcmp(name, "work")) {
        // So many milliseconds of CPU time behind a wait.
        tell(0);
        hear();
        clock_t end = clock() + n * (CLOCKS_PER_SEC / 1000);
        while (clock() < end) {
        }
        say("worked");
    } else if (!strcmp(name, "exit")) {
        tell(0);
        hear();
        exit(7);
    } else if (!strcmp(name, "segv")) {
        tell(0);
        hear();
        *(volatile int *)8 = 1;
    } else if (!strcmp(name, "deadlock")) {
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        tell(0);
        pthread_mutex_lock(&m);
        pthread_mutex_lock(&m);
    } else {
        say("?");
    }
}

int main(void) { return serve(act); }
