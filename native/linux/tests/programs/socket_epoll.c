// A server of one thread behind epoll (level, edge, one shot), its clients on other threads; a blocking server; select; messages.
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/sendfile.h>

#define CLIENTS 8
#define ROUNDS 20
#define LARGE (300 * 1000)

static struct sockaddr_in name = {.sin_family = AF_INET};

static int listener(int flags) {
    int fd = socket(AF_INET, SOCK_STREAM | flags, 0);
    socklen_t length = sizeof name;
    name.sin_port = 0;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(fd, (struct sockaddr *)&name, sizeof name);
    listen(fd, 64);
    getsockname(fd, (struct sockaddr *)&name, &length);
    return fd;
}

static int connected(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&name, sizeof name)) perror("connect");
    return fd;
}

static void *client(void *number) {
    long good = 0;
    char text[64], answer[64];
    for (int round = 0; round < ROUNDS; round++) {
        int fd = connected(), length = snprintf(text, sizeof text, "client %ld round %d", (long)number, round);
        write(fd, text, length);
        shutdown(fd, SHUT_WR);
        int have = 0, more;
        while ((more = read(fd, answer + have, sizeof answer - have)) > 0) have += more;
        good += have == length && !memcmp(text, answer, length);
        close(fd);
    }
    return (void *)good;
}

// Answers each connection with what it sent, until all have come.
static void serve(int mode) {
    int fd = listener(SOCK_NONBLOCK), set = epoll_create1(0), served = 0;
    struct epoll_event event = {EPOLLIN | (mode == 1 ? EPOLLET : 0), {.fd = fd}}, events[4];
    epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
    pthread_t threads[CLIENTS];
    for (long i = 0; i < CLIENTS; i++) pthread_create(&threads[i], NULL, client, (void *)i);
    while (served < CLIENTS * ROUNDS) {
        int count = epoll_wait(set, events, 4, -1);
        for (int i = 0; i < count; i++) {
            int from = events[i].data.fd;
            if (from == fd) {
                int accepted;
                while ((accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    event.events = EPOLLIN | EPOLLRDHUP | (mode == 1 ? EPOLLET : mode == 2 ? EPOLLONESHOT : 0);
                    event.data.fd = accepted;
                    epoll_ctl(set, EPOLL_CTL_ADD, accepted, &event);
                }
                continue;
            }
            char bytes[16];
            int length, over = 0;
            while ((length = read(from, bytes, sizeof bytes)) > 0) write(from, bytes, length);
            over = length == 0;
            if (over) {
                close(from);
                served++;
            } else if (mode == 2) {
                event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
                event.data.fd = from;
                epoll_ctl(set, EPOLL_CTL_MOD, from, &event);
            }
        }
    }
    long good = 0;
    for (int i = 0; i < CLIENTS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        good += (long)result;
    }
    printf("mode %d: %d served, %ld good\n", mode, served, good);
    close(fd);
    close(set);
}

static void *large_client(void *unused) {
    int fd = connected();
    char *bytes = malloc(LARGE);
    for (int i = 0; i < LARGE; i++) bytes[i] = i * 7;
    // A blocking write moves all of it, however little there is room for.
    long wrote = write(fd, bytes, LARGE);
    shutdown(fd, SHUT_WR);
    char last[8];
    read(fd, last, 8);
    close(fd);
    return (void *)wrote;
}

int main(void) {
    for (int mode = 0; mode < 3; mode++) serve(mode);

    int fd = listener(0);
    pthread_t thread;
    pthread_create(&thread, NULL, large_client, NULL);
    int from = accept(fd, NULL, NULL);
    long sum = 0, count = 0, length;
    unsigned char bytes[5000];
    while ((length = read(from, bytes, sizeof bytes)) > 0)
        for (long i = 0; i < length; i++) sum += bytes[i] * (++count % 11);
    SHOW(count);
    SHOW(sum);
    CALL(write(from, "done", 4));
    void *wrote;
    pthread_join(thread, &wrote);
    SHOW((long)wrote);

    int there = connected();
    fd_set readers;
    FD_ZERO(&readers);
    FD_SET(fd, &readers);
    CALL(select(fd + 1, &readers, NULL, NULL, NULL));
    SHOW(FD_ISSET(fd, &readers) != 0);
    from = accept(fd, NULL, NULL);

    // Messages, several at a time.
    struct iovec out[2] = {{"first", 5}, {"second", 6}}, in[2] = {{bytes, 4}, {bytes + 100, 100}};
    struct mmsghdr sent[2] = {{{.msg_iov = out, .msg_iovlen = 1}}, {{.msg_iov = out + 1, .msg_iovlen = 1}}};
    struct mmsghdr received[2] = {{{.msg_iov = in, .msg_iovlen = 1}}, {{.msg_iov = in + 1, .msg_iovlen = 1}}};
    CALL(sendmmsg(there, sent, 2, 0)); SHOW(sent[0].msg_len); SHOW(sent[1].msg_len);
    CALL(recvmmsg(from, received, 2, 0, NULL)); SHOW(received[0].msg_len); SHOW(received[1].msg_len);
    CALL(recvmmsg(from, received, 2, MSG_DONTWAIT, NULL));

    // A file to a socket.
    int file = memfd_create("file", 0);
    write(file, "0123456789", 10);
    off_t at = 4;
    CALL(sendfile(there, file, &at, 100)); SHOW(at);
    lseek(file, 8, SEEK_SET);
    CALL(sendfile(there, file, NULL, 1)); SHOW(lseek(file, 0, SEEK_CUR));
    CALL(sendfile(file, there, NULL, 1));
    CALL(sendfile(there, 999, NULL, 1));
    memset(bytes, 0, 20);
    CALL(read(from, bytes, 20));
    printf("%s\n", bytes);
    return 0;
}
