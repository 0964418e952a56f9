// Too many descriptors, files and bytes; sets that hold themselves; descriptors closed under the program's own feet.
#pragma once
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/serve.h"

static void say_refused(long made, long most) { say(made < most ? "refused" : "no end"); }

static void fd_bomb(void) {
    long made = 0;
    while (made < 100000 && (made % 2 ? dup(0) : eventfd(0, 0)) >= 0) made++;
    // An answer needs no further descriptor.
    say_refused(made, 100000);
}

static void pipe_bomb(void) {
    static char full[1 << 16];
    long bytes = 0;
    int ends[2];
    while (pipe2(ends, O_NONBLOCK) == 0) {
        fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
        for (ssize_t n; (n = write(ends[1], full, sizeof full)) > 0;) bytes += n;
    }
    say_refused(bytes, 64 << 20);
}

static void socket_bomb(void) {
    static char full[1 << 16];
    long bytes = 0;
    int ends[2];
    while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0)
        for (ssize_t n; (n = write(ends[1], full, sizeof full)) > 0;) bytes += n;
    say_refused(bytes, 256 << 20);
}

static void file_bomb(void) {
    static char full[1 << 16];
    long bytes = 0;
    int fd = open("/tmp/large", O_CREAT | O_RDWR, 0600);
    for (ssize_t n; bytes < 1L << 30 && (n = write(fd, full, sizeof full)) > 0;) bytes += n;
    ftruncate(fd, 1L << 62);
    pwrite(fd, full, 1, 1L << 61);
    say_refused(bytes, 1L << 30);
}

static void node_bomb(void) {
    char name[64];
    for (long i = 0;; i++) {
        snprintf(name, sizeof name, "/tmp/%ld", i);
        mkdir(name, 0700);
    }
}

static void deep_path(void) {
    char path[4096] = "/tmp";
    long made = 0;
    while (strlen(path) < 4000 && mkdir(strcat(path, "/d"), 0700) == 0) made++;
    for (int i = 0; i < 40; i++) {
        symlink("/tmp/loop", "/tmp/loop");
        open("/tmp/loop/loop/loop", O_RDONLY);
    }
    chdir(path);
    access("../../../../../../../../../../etc/passwd", F_OK);
    say("survived");
}

static void epoll_loops(void) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    int sets[200];
    for (int i = 0; i < 200; i++) sets[i] = epoll_create1(0);
    epoll_ctl(sets[0], EPOLL_CTL_ADD, sets[0], &event);
    for (int i = 0; i < 200; i++) epoll_ctl(sets[i], EPOLL_CTL_ADD, sets[(i + 1) % 200], &event);
    for (int i = 0; i < 200; i++) epoll_ctl(sets[(i + 1) % 200], EPOLL_CTL_ADD, sets[i], &event);
    struct epoll_event ready[8];
    for (int i = 0; i < 200; i++) epoll_wait(sets[i], ready, 8, 0);
    say("survived");
}

static void send_descriptors(void) {
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    char control[CMSG_SPACE(sizeof ends)] = {0}, byte = 1;
    struct iovec vector = {&byte, 1};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof ends);
    memcpy(CMSG_DATA(header), ends, sizeof ends);
    // The socket travels through itself.
    for (int i = 0; i < 1000; i++) sendmsg(ends[0], &message, MSG_DONTWAIT);
    say("survived");
}

static void log_flood(void) {
    static char line[65536];
    for (;;) write(2, line, sizeof line);
}

static void close_input(void) {
    for (int fd = 0; fd < 1024; fd++)
        if (fd != 1) close(fd);
    say("closed");
}

static void close_output(void) {
    close(1);
    say("lost");
}

static void other_output(void) {
    int ends[2];
    pipe(ends);
    dup2(ends[1], 1);
    say("into a pipe");
}
