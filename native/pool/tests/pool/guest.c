// A server of frames that does what a request's header says. Everything it keeps must be gone in the next request.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "../support/serve.h"

static long counter;
static volatile sig_atomic_t signalled;
static char *kept;
static char loaded[1 << 16];

static void on_signal(int n) { signalled = n; }

static void *adder(void *p) {
    for (int i = 0; i < 1000; i++) __atomic_add_fetch((long *)p, 1, __ATOMIC_SEQ_CST);
    return p;
}

static void recurse(int n) {
    volatile char page[4096];
    page[0] = n;
    recurse(n + 1);
    page[1] = page[0];
}

static volatile int flag;
static void *set_flag(void *p) {
    flag = 1;
    return p;
}

static void act(const char *what, size_t length) {
    char text[256];
    pthread_t t[3];
    if (!strcmp(what, "count")) {
        snprintf(text, sizeof text, "%ld", ++counter);
        say(text);
    } else if (!strcmp(what, "dirty")) {
        counter += 1000;
        kept = malloc(16 << 20);
        memset(kept, 7, 16 << 20);
        if (open("/tmp/left", O_CREAT | O_RDWR, 0600) < 0) say("no file");
        for (int i = 0; i < 10; i++) dup(0);
        signal(SIGUSR1, on_signal);
        chdir("/tmp");
        setenv("LEFT", "1", 1);
        mprotect(in, 4096, PROT_READ);
        say("dirtied");
    } else if (!strncmp(what, "keep ", 5)) {
        size_t n = strlen(what + 5);
        kept = malloc(1000 * n);
        for (int i = 0; i < 1000; i++) memcpy(kept + i * n, what + 5, n);
        say("kept");
    } else if (!strcmp(what, "look")) {
        struct sigaction old;
        sigaction(SIGUSR1, 0, &old);
        int fd = dup(0);
        char cwd[100];
        snprintf(text, sizeof text, "%ld %d %d %d %d %s %d", counter, kept != 0, access("/tmp/left", F_OK) == 0, fd,
                 old.sa_handler != SIG_DFL, getcwd(cwd, sizeof cwd) ? cwd : "?", getenv("LEFT") != 0);
        say(text);
    } else if (!strcmp(what, "load")) {
        // Told by no frame: the next read is the answer.
        int fd = open("/app/secret", O_RDONLY);
        if (fd < 0) exit(8);
        read(fd, loaded, sizeof loaded - 1);
        close(fd);
        counter = 100;
    } else if (!strcmp(what, "loaded")) {
        snprintf(text, sizeof text, "%.32s %ld %d", loaded, ++counter, access("/app/secret", F_OK));
        say(text);
    } else if (!strcmp(what, "threads")) {
        long sum = 0;
        for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, adder, &sum);
        for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
        snprintf(text, sizeof text, "%ld", sum);
        say(text);
    } else if (!strcmp(what, "spin-on-thread")) {
        pthread_create(&t[0], 0, set_flag, 0);
        while (!flag) {
        }
        say("set");
    } else if (!strcmp(what, "random")) {
        unsigned char r[16];
        getrandom(r, sizeof r, 0);
        for (int i = 0; i < 16; i++) sprintf(text + 2 * i, "%02x", r[i]);
        say(text);
    } else if (!strcmp(what, "vectors")) {
        double x = 1.0;
        __asm__ volatile("vpcmpeqd %%ymm7,%%ymm7,%%ymm7; vmovapd %%ymm7,%%ymm15" ::: "xmm7", "xmm15");
        snprintf(text, sizeof text, "%.3f", x / 3);
        say(text);
    } else if (!strcmp(what, "sleep")) {
        struct timespec s = {0, 300000000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &s, 0);
        say("slept");
    } else if (!strcmp(what, "log")) {
        all(2, "a line\n", 7);
        say("logged");
    } else if (!strcmp(what, "compute")) {
        unsigned long x = 1;
        for (long i = 0; i < 20000000; i++) x = x * 6364136223846793005 + 1442695040888963407;
        snprintf(text, sizeof text, "%lx", x);
        say(text);
    } else if (!strcmp(what, "spin")) {
        for (;;) {
        }
    } else if (!strcmp(what, "spin-calls")) {
        for (;;) getppid();
    } else if (!strcmp(what, "exit")) {
        exit(7);
    } else if (!strcmp(what, "segv")) {
        *(volatile int *)8 = 1;
    } else if (!strcmp(what, "abort")) {
        abort();
    } else if (!strcmp(what, "recurse")) {
        recurse(0);
    } else if (!strcmp(what, "memory")) {
        for (;;) memset(malloc(1 << 20), 1, 1 << 20);
    } else if (!strcmp(what, "output")) {
        static char big[65536];
        uint8_t head[16] = {'M', 'A', 'Y', 'F', 1, 2, 0, 0, 2, 0, 0, 0, 255, 255, 255, 63};
        all(1, head, 16);
        for (;;) all(1, big, sizeof big);
    } else if (!strcmp(what, "garbage")) {
        all(1, "this is no frame at all", 23);
        for (;;) pause();
    } else if (!strcmp(what, "stuck")) {
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&m);
        pthread_mutex_lock(&m);
    } else if (!strcmp(what, "big")) {
        static char big[600000];
        memset(big, 'b', sizeof big);
        answer(big, sizeof big);
    } else if (!strcmp(what, "close")) {
        close(0);
        say("closed");
    } else if (!strcmp(what, "wild")) {
        for (long i = 0; i < 2000; i++) {
            long n = i % 460; // all but those that rightly wait or end: rt_sigreturn, pause, exit, rt_sigsuspend, exit_group
            if (n != 15 && n != 34 && n != 60 && n != 130 && n != 231) syscall(n, -1L, 0x8000L, -4096L, 0x7fffffffffffL, i << 40, -1L);
        }
        say("survived");
    } else {
        snprintf(text, sizeof text, "echo %s %zu", what, length);
        say(text);
    }
}

int main(void) { return serve(act); }
