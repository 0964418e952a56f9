// A server of frames that makes one of everything before its snapshot, and says in each request whether it is still there.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../support/serve.h"

static long counter;
static timer_t alarm_clock;
static int pipes[2], pair[2], set, event, timer, named, unnamed;
static char *mapped, *heap, *hidden;
static volatile sig_atomic_t signalled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER, rung = PTHREAD_COND_INITIALIZER;
static int wishes, done;
static double third;
static unsigned long long drawn;

static void on_signal(int n) { signalled = n; }

// Waits for wishes and grants them.
static void *granter(void *p) {
    double mine = 1.0 / 3;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (wishes == done) pthread_cond_wait(&bell, &lock);
        done++;
        third = mine;
        pthread_cond_signal(&rung);
    }
}

// Waits for ever in the pipe that nobody writes to.
static void *reader(void *p) {
    char byte;
    read(*(int *)p, &byte, 1);
    return p;
}

static void prepare(void) {
    static int silent[2];
    pthread_t t;
    pipe(pipes);
    pipe(silent);
    write(pipes[1], "in flight", 9);
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    write(pair[0], "to the peer", 11);
    set = epoll_create1(0);
    event = eventfd(3, EFD_NONBLOCK);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec in_an_hour = {{0}, {3600, 0}};
    timerfd_settime(timer, 0, &in_an_hour, 0);
    timer_create(CLOCK_MONOTONIC, 0, &alarm_clock);
    timer_settime(alarm_clock, 0, &in_an_hour, 0);
    struct epoll_event e = {EPOLLIN, {.u64 = 77}};
    epoll_ctl(set, EPOLL_CTL_ADD, event, &e);
    e.data.u64 = 78;
    epoll_ctl(set, EPOLL_CTL_ADD, timer, &e);
    mkdir("/tmp/folder", 0700);
    named = open("/tmp/folder/named", O_CREAT | O_RDWR, 0600);
    write(named, "named text", 10);
    lseek(named, 6, SEEK_SET);
    symlink("named", "/tmp/folder/link");
    mapped = mmap(0, 4096, PROT_READ, MAP_PRIVATE, named, 0);
    unnamed = open("/tmp/unnamed", O_CREAT | O_RDWR, 0600);
    write(unnamed, "unnamed text", 12);
    unlink("/tmp/unnamed");
    chdir("/tmp/folder");
    heap = malloc(300 << 10);
    memset(heap, 0x5a, 300 << 10);
    hidden = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(hidden, "hidden");
    mprotect(hidden, 8192, PROT_NONE);
    signal(SIGUSR1, on_signal);
    getrandom(&drawn, sizeof drawn, 0);
    pthread_create(&t, 0, granter, 0);
    pthread_create(&t, 0, reader, &silent[0]);
    // Both are to wait before the snapshot.
    for (int i = 0; i < 100; i++) sched_yield();
}

static const char *look(void) {
    char text[64] = {0};
    struct epoll_event e[2];
    unsigned long long count;
    struct stat meta;
    if (++counter != 1) return "the counter moved";
    if (read(pipes[0], text, 64) != 9 || strcmp(text, "in flight")) return "the pipe";
    memset(text, 0, 64);
    if (read(pair[1], text, 64) != 11 || strcmp(text, "to the peer")) return "the sockets";
    if (write(pair[1], "x", 1) != 1 || read(pair[0], text, 1) != 1) return "the sockets' other way";
    if (epoll_wait(set, e, 2, 0) != 1 || e[0].data.u64 != 77) return "the set";
    if (read(event, &count, 8) != 8 || count != 3) return "the counter of events";
    struct itimerspec left;
    if (timerfd_gettime(timer, &left) || left.it_value.tv_sec < 3500) return "the timer";
    if (timer_gettime(alarm_clock, &left) || left.it_value.tv_sec < 3500) return "the POSIX timer";
    memset(text, 0, 64);
    if (read(named, text, 64) != 4 || strcmp(text, "text")) return "the file's offset";
    if (open("link", O_RDONLY) < 0) return "the link in the working directory";
    memset(text, 0, 64);
    if (pread(unnamed, text, 64, 0) != 12 || strcmp(text, "unnamed text")) return "the file without a name";
    if (stat("/tmp/unnamed", &meta) != -1 || errno != ENOENT) return "a name that was taken away";
    pwrite(named, "NAMED", 5, 0);
    if (memcmp(mapped, "named text", 10)) return "the mapped file";
    for (int i = 0; i < 300 << 10; i += 4096) if (heap[i] != 0x5a) return "the heap";
    mprotect(hidden, 8192, PROT_READ);
    if (strcmp(hidden, "hidden")) return "the hidden page";
    raise(SIGUSR1);
    if (signalled != SIGUSR1) return "the handler";
    pthread_mutex_lock(&lock);
    wishes++;
    pthread_cond_signal(&bell);
    while (done != wishes) pthread_cond_wait(&rung, &lock);
    pthread_mutex_unlock(&lock);
    if (third != 1.0 / 3) return "the vector registers of a thread";
    return "all there";
}

static void act(const char *what, size_t length) {
    static char big[1 << 16];
    char text[256];
    if (!strcmp(what, "look")) {
        say(look());
    } else if (!strcmp(what, "random")) {
        unsigned long long words[2];
        getrandom(words, sizeof words, 0);
        snprintf(text, sizeof text, "%llx%llx", words[0], words[1]);
        say(text);
    } else if (!strcmp(what, "drawn")) {
        snprintf(text, sizeof text, "%llx", drawn);
        say(text);
    } else if (!strcmp(what, "time")) {
        struct timespec mono, real;
        clock_gettime(CLOCK_MONOTONIC, &mono);
        clock_gettime(CLOCK_REALTIME, &real);
        snprintf(text, sizeof text, "%ld %ld", (long)mono.tv_sec, (long)real.tv_sec);
        say(text);
    } else if (!strncmp(what, "file ", 5)) {
        int fd = open(what + 5, O_RDONLY);
        ssize_t n = fd < 0 ? -1 : read(fd, big, sizeof big);
        if (n < 0) say("none");
        else answer(big, n);
    } else if (strcmp(what, "load")) {
        // To be told what to load is no request.
        say("ready");
    }
}

int main(void) {
    prepare();
    return serve(act);
}
