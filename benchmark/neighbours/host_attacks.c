/* What a hostile program asks of the host that could cost it much, again and again until it is stopped: work of one call, or memory. */
#define _GNU_SOURCE
#include "../../native/guest/include/mayfly.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MIB (1 << 20)

static char *take(size_t length) {
    return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* A file of so many bytes that are no holes. */
static int filled(const char *path, size_t length) {
    static char block[MIB];
    memset(block, 'x', sizeof block);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    for (size_t at = 0; at < length; at += sizeof block) pwrite(fd, block, sizeof block, at);
    return fd;
}

/* A thousand parts of a MiB each. */
static void vectors(const char *path, int writes) {
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    struct iovec parts[1024];
    char *buffer = take(MIB);
    for (int i = 0; i < 1024; i++) parts[i] = (struct iovec){buffer, MIB};
    for (;;) writes ? pwritev(fd, parts, 1024, 0) : readv(fd, parts, 1024);
}

static void random_bytes(void) {
    char *buffer = take(32 * MIB);
    for (;;) syscall(SYS_getrandom, buffer, 32 * MIB, 0);
}

/* Sets in a set, with as many files as there may be, and all of them polled a thousand times at once. */
static void nested_sets(void) {
    int sets[16], outer = epoll_create1(0), fds[2];
    for (int i = 0; i < 16; i++) {
        sets[i] = epoll_create1(0);
        epoll_ctl(outer, EPOLL_CTL_ADD, sets[i], &(struct epoll_event){.events = EPOLLIN});
    }
    while (pipe(fds) == 0)
        for (int i = 0; i < 16; i++) epoll_ctl(sets[i], EPOLL_CTL_ADD, fds[0], &(struct epoll_event){.events = EPOLLIN});
    struct pollfd polled[1024];
    for (int i = 0; i < 1024; i++) polled[i] = (struct pollfd){outer, POLLIN, 0};
    for (;;) poll(polled, 1024, 0);
}

/* Files that were large once. */
static void shrunk_files(void) {
    char path[64];
    for (int i = 0;; i++) {
        snprintf(path, sizeof path, "/tmp/shrunk%d", i);
        int fd = filled(path, 8 * MIB);
        if (fd < 0) break;
        ftruncate(fd, 1);
        close(fd);
    }
    for (;;) ftruncate(filled("/tmp/shrunk0", 8 * MIB), 1);
}

/* Mappings of a file whose path is long. */
static void mapped_paths(void) {
    char path[4000] = "/tmp", name[251];
    memset(name, 'n', 250);
    name[250] = 0;
    while (strlen(path) < 3500) {
        strcat(strcat(path, "/"), name);
        mkdir(path, 0700);
    }
    int fd = filled(strcat(path, "/file"), MIB);
    for (;;) mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
}

/* As many mappings as there may be, and their list. */
static void long_maps(void) {
    for (long i = 0; i < 60000; i++) mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (;;) close(open("/proc/self/maps", O_RDONLY));
}

static void symbolic_links(void) {
    char target[4000], path[64];
    memset(target, 't', sizeof target - 1);
    target[sizeof target - 1] = 0;
    for (long i = 0;; i++) {
        snprintf(path, sizeof path, "/tmp/link%ld", i);
        symlink(target, path);
    }
}

/* First writes to a large file, each time behind a mapping that keeps it as it was. */
static void first_writes(void) {
    int fd = filled("/tmp/large", 7 * MIB);
    for (;;) {
        void *at = mmap(NULL, 7 * MIB, PROT_READ, MAP_PRIVATE, fd, 0);
        pwrite(fd, "y", 1, 3 * MIB);
        munmap(at, 7 * MIB);
    }
}

int main(void) {
    static const struct {
        const char *name;
        void (*run)(void);
    } attacks[] = {
        {"random-bytes", random_bytes}, {"nested-sets", nested_sets}, {"shrunk-files", shrunk_files},
        {"mapped-paths", mapped_paths}, {"long-maps", long_maps},     {"symbolic-links", symbolic_links},
        {"first-writes", first_writes},
    };
    mayfly_request request;
    while (mayfly_wait_for_request(&request)) {
        const char *name = strrchr(request.path.data, '/') + 1;
        if (!strcmp(name, "readv")) vectors("/dev/urandom", 0);
        if (!strcmp(name, "pwritev")) vectors("/tmp/written", 1);
        for (unsigned i = 0; i < sizeof attacks / sizeof *attacks; i++)
            if (!strcmp(name, attacks[i].name)) attacks[i].run();
        mayfly_respond(200, "text/plain", "clean", 5);
    }
}
