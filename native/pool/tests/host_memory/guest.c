// Makes the host hold as much as it can for a request: "ATTACK". Answers how often it could, and the error after that.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/serve.h"

static char bytes[1 << 16];

static void got(long count, int error) {
    char text[64];
    snprintf(text, sizeof text, "%ld %d", count, error);
    say(text);
}

// Files that were large once.
static void shrunk_files(void) {
    long made = 0;
    for (; made < 300; made++) {
        char path[32];
        snprintf(path, sizeof path, "/tmp/%ld", made);
        int fd = open(path, O_RDWR | O_CREAT, 0644);
        if (fd < 0 || ftruncate(fd, 8 << 20) || ftruncate(fd, 1) || close(fd)) break;
    }
    got(made, made < 300 ? errno : 0);
}

// Mappings of a file whose path is as long as may be, and their list.
static void named_mappings(void) {
    char name[256];
    memset(name, 'd', 255);
    name[255] = 0;
    chdir("/tmp");
    for (int i = 0; i < 15; i++) {
        mkdir(name, 0755);
        chdir(name);
    }
    int fd = open("f", O_RDWR | O_CREAT, 0644);
    ftruncate(fd, 4096);
    long made = 0;
    while (made < 70000 && mmap(0, 4096, made % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE, fd, 0) != MAP_FAILED) made++;
    int error = errno;
    if (open("/proc/self/maps", O_RDONLY) >= 0) error = 0;
    got(made, error);
}

static void links(void) {
    char target[4096];
    memset(target, 't', 4095);
    target[4095] = 0;
    long made = 0;
    for (; made < 40000; made++) {
        char path[32];
        snprintf(path, sizeof path, "/tmp/%ld", made);
        if (symlink(target, path)) break;
    }
    got(made, errno);
}

static void pipes(void) {
    long made = 0;
    int ends[2];
    while (made < 400 && !pipe(ends) && write(ends[1], bytes, sizeof bytes) == sizeof bytes) {
        if (read(ends[0], bytes, sizeof bytes) != sizeof bytes) break;
        made++;
    }
    got(made, made < 400 ? errno : 0);
}

static void versions(void) {
    int fd = open("/tmp/v", O_RDWR | O_CREAT, 0644);
    ftruncate(fd, 1 << 20);
    long made = 0;
    while (made < 1000 && mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED && pwrite(fd, "x", 1, 0) == 1) made++;
    got(made, errno);
}

static void act(const char *what, size_t length) {
    (void)length;
    if (!strncmp(what, "shrunk", 6)) shrunk_files();
    else if (!strncmp(what, "named", 5)) named_mappings();
    else if (!strncmp(what, "links", 5)) links();
    else if (!strncmp(what, "pipes", 5)) pipes();
    else if (!strncmp(what, "versions", 8)) versions();
    else say("hello");
}

int main(void) { return serve(act); }
