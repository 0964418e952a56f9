// Asks for as much of one thing as a request's header says: "WHAT NUMBER". Answers how much it got, and the error after that.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <time.h>

#include "../support/serve.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *p) {
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return p;
}

static void got(long count, int error) {
    char text[64];
    snprintf(text, sizeof text, "%ld %d", count, error);
    say(text);
}

static void threads(long n) {
    static pthread_t all[2048];
    pthread_attr_t small;
    long made = 0;
    int error = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_mutex_lock(&gate);
    while (made < n && !(error = pthread_create(&all[made], &small, wait_at_gate, 0))) made++;
    pthread_mutex_unlock(&gate);
    for (long i = 0; i < made; i++) pthread_join(all[i], 0);
    got(made, error);
}

static void mappings(long n) {
    long made = 0;
    // Neighbours of other rights, so that no two are one mapping.
    while (made < n && mmap(0, 4096, made % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) made++;
    got(made, made < n ? errno : 0);
}

static void descriptors(long n) {
    long made = 0;
    while (made < n && dup(0) >= 0) made++;
    got(made, made < n ? errno : 0);
}

static void touch(long pages) {
    char *at = mmap(0, pages << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < pages; i++) at[i << 12] = 1;
    got(pages, 0);
}

static void work(long ms) {
    struct timespec now, end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += ms % 1000 * 1000000;
    end.tv_sec += ms / 1000 + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
    got(ms, 0);
}

static void act(const char *what, size_t length) {
    static char bytes[1 << 20];
    char name[64] = {0};
    long n = 0;
    sscanf(what, "%60s %ld", name, &n);
    if (!strcmp(name, "descriptors")) {
        descriptors(n);
    } else if (!strcmp(name, "threads")) {
        threads(n);
    } else if (!strcmp(name, "mappings")) {
        mappings(n);
    } else if (!strcmp(name, "calls")) {
        for (long i = 0; i < n; i++) syscall(SYS_getppid);
        got(n, 0);
    } else if (!strcmp(name, "call-for-ever")) {
        for (;;) syscall(SYS_getppid);
    } else if (!strcmp(name, "work")) {
        work(n);
    } else if (!strcmp(name, "sleep")) {
        struct timespec s = {n / 1000, n % 1000 * 1000000};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &s, 0);
        got(n, 0);
    } else if (!strcmp(name, "log")) {
        all(2, bytes, n);
        got(n, 0);
    } else if (!strcmp(name, "body")) {
        answer(bytes, n);
    } else if (!strcmp(name, "touch")) {
        touch(n);
    } else if (!strcmp(name, "free")) {
        struct sysinfo info;
        sysinfo(&info);
        got(info.freeram >> 12, 0);
    } else if (!strcmp(name, "reserve")) {
        void *at = mmap(0, n << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        got(n, at == MAP_FAILED ? errno : 0);
    } else if (!strcmp(name, "write-file")) {
        FILE *file = fopen("/tmp/f", "w");
        long written = 0;
        while (written < n && fwrite(bytes, 1 << 20, 1, file)) written++;
        got(written, written < n ? errno : 0);
    } else if (!strcmp(name, "beyond")) {
        for (int i = 0; i < 3; i++) syscall(9999);
        syscall(SYS_socket, 2, 1, 0);
        syscall(SYS_fork);
        syscall(SYS_execve, "/program", 0, 0);
        syscall(SYS_ptrace, 0, 0, 0, 0);
        // Errors that any program meets are nothing that it was denied.
        close(77);
        syscall(SYS_open, "/nowhere", 0);
        syscall(SYS_rseq, 0, 0, 0, 0);
        got(0, 0);
    } else if (!strcmp(name, "devour")) {
        // One call, a thousand parts, for seconds: random bytes for 1, zeros for 2.
        struct iovec parts[1024];
        for (int i = 0; i < 1024; i++) parts[i] = (struct iovec){bytes, 1 << 20};
        long done = syscall(SYS_readv, open(n == 1 ? "/dev/urandom" : "/dev/zero", O_RDONLY), parts, 1024);
        got(done >> 20, 0);
    } else if (!strcmp(name, "nested-sets")) {
        // As many files in sets as may be, the sets in a set, and a poll of that set by a thousand names.
        struct epoll_event event = {.events = EPOLLIN};
        int outer = epoll_create1(0), file[100], last = 0;
        for (int i = 0; i < 100; i++) file[i] = eventfd(0, 0);
        for (int i = 0; i < 60; i++) {
            int inner = epoll_create1(0);
            epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
            for (int k = 0; k < 100; k++) epoll_ctl(inner, EPOLL_CTL_ADD, file[k], &event);
        }
        for (int fd; (fd = dup(outer)) >= 0;) last = fd;
        struct pollfd polls[1024];
        for (int i = 0; i < 1024; i++) polls[i] = (struct pollfd){last - i % 700, POLLIN, 0};
        long before = poll(polls, 1024, 0), one = 1;
        write(file[99], &one, 8);
        got(poll(polls, 1024, 0) - before, 0);
    } else if (!strcmp(name, "many-unknown")) {
        for (int i = 0; i < n; i++) syscall(9000 + i);
        got(n, 0);
    } else {
        say("hello");
    }
}

int main(void) { return serve(act); }
