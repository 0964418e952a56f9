// A server that connects to others in its requests: GET /KIND/ADDRESS/PORT. It answers what the other side said, or "CALL ERRNO".
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static char said[1 << 20];
static size_t length;
static int kept = -1, count, booted;

static int fail(const char *call) {
    length = snprintf(said, sizeof said, "%s %d", call, errno);
    return -1;
}

static struct sockaddr_in name_of(const char *address, int port) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, address, &name.sin_addr);
    return name;
}

static int dial(const char *address, int port, int flags) {
    int fd = socket(AF_INET, SOCK_STREAM | flags, 0);
    struct sockaddr_in name = name_of(address, port);
    if (connect(fd, (struct sockaddr *)&name, sizeof name) && !(flags && errno == EINPROGRESS)) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static void read_all(int fd) {
    length = 0;
    for (;;) {
        ssize_t more = read(fd, said + length, sizeof said - length);
        if (more < 0 && length == 0) {
            fail("read");
            return;
        }
        if (more < 0) length += snprintf(said + length, sizeof said - length, ", read %d", errno);
        if (more <= 0) return;
        length += more;
    }
}

// Blocking, to the end of both sides.
static void block(const char *address, int port) {
    int fd = dial(address, port, 0);
    if (fd < 0) {
        fail("connect");
        return;
    }
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) || ntohs(peer.sin_port) != port) fail("getpeername");
    write(fd, "question", 8);
    shutdown(fd, SHUT_WR);
    read_all(fd);
    close(fd);
}

static int error_of(int fd) {
    int error;
    socklen_t size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

// The same by epoll, edge-triggered.
static void by_epoll(const char *address, int port) {
    int fd = dial(address, port, SOCK_NONBLOCK), set = epoll_create1(0);
    if (fd < 0) {
        fail("connect");
        return;
    }
    struct sockaddr_in name = name_of(address, port);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP, .data.u64 = 7};
    epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    int waited = epoll_wait(set, &event, 1, 60000);
    int error = error_of(fd);
    if (error) {
        length = snprintf(said, sizeof said, "%d %x so_error %d", waited, event.events, error);
        close(fd);
        close(set);
        return;
    }
    connect(fd, (struct sockaddr *)&name, sizeof name);
    int twice = connect(fd, (struct sockaddr *)&name, sizeof name) ? errno : 0;
    length = snprintf(said, sizeof said, "%d %x %d: ", waited, event.events, twice);
    write(fd, "question", 8);
    shutdown(fd, SHUT_WR);
    for (;;) {
        ssize_t more = read(fd, said + length, sizeof said - length);
        if (more == 0) break;
        if (more > 0) length += more;
        else if (errno == EAGAIN) epoll_wait(set, &event, 1, 60000);
        else {
            fail("read");
            break;
        }
    }
    close(fd);
    close(set);
}

// Sends 8 MiB and reads as much at the same time; the bytes are those of a pattern.
static void large(const char *address, int port) {
    static unsigned char out[1 << 16], in[1 << 16];
    const size_t all = 8 << 20;
    int fd = dial(address, port, 0);
    if (fd < 0) {
        fail("connect");
        return;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    size_t sent = 0, got = 0, wrong = 0;
    while (got < all) {
        struct pollfd entry = {.fd = fd, .events = POLLIN | (sent < all ? POLLOUT : 0)};
        poll(&entry, 1, -1);
        if (sent < all && entry.revents & POLLOUT) {
            size_t some = all - sent < sizeof out ? all - sent : sizeof out;
            for (size_t i = 0; i < some; i++) out[i] = (sent + i) * 7 % 251;
            ssize_t wrote = write(fd, out, some);
            if (wrote > 0) sent += wrote;
        }
        if (entry.revents & (POLLIN | POLLHUP | POLLERR)) {
            ssize_t more = read(fd, in, sizeof in);
            if (more == 0) break;
            for (ssize_t i = 0; i < more; i++) wrong += in[i] != (got + i) * 7 % 251;
            if (more > 0) got += more;
        }
    }
    length = snprintf(said, sizeof said, "%zu %zu %zu", sent, got, wrong);
    close(fd);
}

// As many as there may be.
static void many(const char *address, int port) {
    int fds[100], open = 0, why = 0;
    while (open < 100) {
        fds[open] = dial(address, port, 0);
        if (fds[open] < 0) {
            why = errno;
            break;
        }
        open++;
    }
    for (int i = 0; i < open; i++) close(fds[i]);
    length = snprintf(said, sizeof said, "%d %d", open, why);
}

// On a connection that outlives the request, if the machine does.
static void keep(const char *address, int port) {
    if (kept < 0) kept = dial(address, port, 0);
    if (kept < 0) {
        fail("connect");
        return;
    }
    write(kept, "ping", 4);
    ssize_t got = read(kept, said, 64);
    if (got < 0) fail("read");
    else length = got;
}

// The same, on a new connection when the old one has ended.
static void pooled(const char *address, int port) {
    char byte;
    if (kept >= 0 && recv(kept, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
        close(kept);
        kept = -1;
    }
    keep(address, port);
}

// Says something and does not wait for what comes of it.
static void leave(const char *address, int port) {
    int fd = dial(address, port, 0);
    if (fd < 0) {
        fail("connect");
        return;
    }
    for (int i = 0; i < 1000; i++) write(fd, "gone but not lost; ", 19);
    length = snprintf(said, sizeof said, "left");
}

// Reads nothing for a second while the other side talks, and then a little.
static void slow(const char *address, int port) {
    int fd = dial(address, port, 0);
    if (fd < 0) {
        fail("connect");
        return;
    }
    poll(0, 0, 1000);
    length = snprintf(said, sizeof said, "%zd", read(fd, said, 1000));
}

// Writes until that fails, and then reads what there is.
static void push(const char *address, int port) {
    static char zeros[1 << 16];
    int fd = dial(address, port, 0), why = 0;
    if (fd < 0) {
        fail("connect");
        return;
    }
    for (int i = 0; i < 100000 && !why; i++)
        if (send(fd, zeros, sizeof zeros, MSG_NOSIGNAL) < 0) why = errno;
    int again = send(fd, zeros, 1, MSG_NOSIGNAL) < 0 ? errno : 0;
    ssize_t got = read(fd, said, 100);
    length = snprintf(said, sizeof said, "%d %d %zd", why, again, got);
    close(fd);
}

static void serve(int from) {
    static char request[1 << 16];
    size_t have = 0;
    while (!strstr(request, "\r\n\r\n") || have == 0) {
        ssize_t more = read(from, request + have, sizeof request - 1 - have);
        if (more <= 0) return;
        have += more;
        request[have] = 0;
    }
    char kind[32] = "", address[64] = "";
    int port = 0;
    sscanf(request, "GET /%31[^/ ]/%63[^/ ]/%d", kind, address, &port);
    count++;
    length = 0;
    if (!strcmp(kind, "block")) block(address, port);
    else if (!strcmp(kind, "epoll")) by_epoll(address, port);
    else if (!strcmp(kind, "large")) large(address, port);
    else if (!strcmp(kind, "many")) many(address, port);
    else if (!strcmp(kind, "keep")) keep(address, port);
    else if (!strcmp(kind, "pooled")) pooled(address, port);
    else if (!strcmp(kind, "leave")) leave(address, port);
    else if (!strcmp(kind, "slow")) slow(address, port);
    else if (!strcmp(kind, "push")) push(address, port);
    else if (!strcmp(kind, "boot")) length = snprintf(said, sizeof said, "%d", booted);
    else if (!strcmp(kind, "hosts")) {
        int fd = open("/etc/hosts", O_RDONLY);
        read_all(fd);
        close(fd);
    } else length = snprintf(said, sizeof said, "%d", count);
    char head[128];
    write(from, head, snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\ncontent-length: %zu\r\n\r\n", length));
    for (size_t at = 0; at < length;) {
        ssize_t wrote = write(from, said + at, length - at);
        if (wrote <= 0) return;
        at += wrote;
    }
    request[0] = 0;
}

int main(int argc, char **argv) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in name = name_of("0.0.0.0", 8080);
    if (argc > 1) booted = dial("127.0.0.1", atoi(argv[1]), 0) < 0 ? errno : 0;
    if (bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 16)) return 1;
    for (;;) {
        int from = accept(fd, 0, 0);
        serve(from);
        close(from);
    }
}
