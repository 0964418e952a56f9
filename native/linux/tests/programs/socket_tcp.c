// Connections over IPv4 and IPv6 among the threads of one program: names, options, errors, waiting for both ends.
#include "check.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

static struct sockaddr_in v4(const char *ip, int port) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, ip, &name.sin_addr);
    return name;
}

static struct sockaddr_in6 v6(const char *ip, int port) {
    struct sockaddr_in6 name = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    inet_pton(AF_INET6, ip, &name.sin6_addr);
    return name;
}

#define NAME(name) (struct sockaddr *)&(name), sizeof(name)

static void show_name(const char *what, int fd, int (*call)(int, struct sockaddr *, socklen_t *), int port) {
    struct sockaddr_storage name;
    socklen_t length = sizeof name;
    memset(&name, 0, sizeof name);
    if (call(fd, (struct sockaddr *)&name, &length)) {
        printf("%s: %s\n", what, strerrorname_np(errno));
        return;
    }
    char text[INET6_ADDRSTRLEN] = "";
    int found = 0;
    if (name.ss_family == AF_INET) {
        inet_ntop(AF_INET, &((struct sockaddr_in *)&name)->sin_addr, text, sizeof text);
        found = ntohs(((struct sockaddr_in *)&name)->sin_port);
    } else {
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&name)->sin6_addr, text, sizeof text);
        found = ntohs(((struct sockaddr_in6 *)&name)->sin6_port);
    }
    printf("%s: family %d length %d %s, %s\n", what, name.ss_family, length, text,
           found == port ? "the listener's port" : found ? "a port" : "no port");
}

static int port_of(int fd) {
    struct sockaddr_in6 name;
    socklen_t length = sizeof name;
    getsockname(fd, (struct sockaddr *)&name, &length);
    return ntohs(name.sin6_port);
}

static void poll_shows(const char *what, int fd) {
    struct pollfd one = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};
    int ready = poll(&one, 1, 0);
    printf("%s: poll %d, %x\n", what, ready, one.revents);
}

static void conversation(int client, int server) {
    char bytes[64];
    CALL(write(client, "question", 8));
    CALL(recv(server, bytes, 64, MSG_PEEK));
    CALL(read(server, bytes, 64));
    poll_shows("nothing to read", server);
    CALL(recv(server, bytes, 64, MSG_DONTWAIT));
    CALL(send(server, "answer", 6, MSG_NOSIGNAL));
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    CALL(recvfrom(client, bytes, 64, 0, (struct sockaddr *)&from, &length));
    CALL(shutdown(client, SHUT_WR));
    CALL(send(client, "x", 1, MSG_NOSIGNAL));
    CALL(read(server, bytes, 64));
    poll_shows("half closed", server);
    CALL(write(server, "last", 4));
    CALL(close(server));
    CALL(read(client, bytes, 64));
    CALL(read(client, bytes, 64));
    poll_shows("closed", client);
    CALL(close(client));
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in any = v4("127.0.0.1", 0), wrong = v4("192.0.2.1", 0);
    char bytes[64];
    int fd, client, server;
    CALL(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP));
    CALL(socket(AF_INET, SOCK_STREAM | 0x40000000, 0));
    CALL(socket(99, SOCK_STREAM, 0));
    CALL((fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP)) >= 0);
    CALL(fcntl(fd, F_GETFD));
    show_name("unnamed", fd, getsockname, 0);
    show_name("unconnected", fd, getpeername, 0);
    poll_shows("fresh", fd);
    CALL(read(fd, bytes, 1));
    CALL(send(fd, "x", 1, MSG_NOSIGNAL));
    CALL(accept(fd, NULL, NULL));
    CALL(shutdown(socket(AF_INET, SOCK_STREAM, 0), SHUT_RD));
    CALL(bind(fd, NAME(wrong)));
    CALL(bind(fd, (struct sockaddr *)&any, 4));
    struct sockaddr_in6 other_family = v6("::1", 0);
    CALL(bind(fd, NAME(other_family)));
    CALL(bind(fd, NAME(any)));
    CALL(bind(fd, NAME(any)));
    int port = port_of(fd);
    struct sockaddr_in there = v4("127.0.0.1", port);
    CALL((client = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CALL(connect(client, NAME(there)));
    CALL(bind(client, NAME(there)));
    CALL(listen(fd, 5));
    show_name("listener", fd, getsockname, port);
    poll_shows("nobody waits", fd);
    CALL(fcntl(fd, F_SETFL, O_NONBLOCK));
    CALL(accept4(fd, NULL, NULL, 0));
    CALL(accept4(fd, NULL, NULL, 1));
    CALL(connect(client, NAME(there)));
    poll_shows("one waits", fd);
    CALL(connect(client, NAME(there)));
    CALL((server = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
    CALL(fcntl(server, F_GETFL) & O_NONBLOCK);
    CALL(fcntl(server, F_GETFD));
    show_name("client", client, getsockname, port);
    show_name("client's peer", client, getpeername, port);
    show_name("server", server, getsockname, port);
    show_name("server's peer", server, getpeername, port);
    CALL(listen(client, 1));
    CALL(bind(client, NAME(any)));
    conversation(client, server);

    // Options that servers set.
    static const int options[][2] = {{SOL_SOCKET, SO_REUSEADDR}, {SOL_SOCKET, SO_KEEPALIVE}, {SOL_SOCKET, SO_REUSEPORT},
                                     {IPPROTO_TCP, TCP_NODELAY}, {IPPROTO_TCP, TCP_CORK},    {IPPROTO_TCP, TCP_KEEPIDLE},
                                     {IPPROTO_TCP, TCP_KEEPINTVL}, {IPPROTO_TCP, TCP_KEEPCNT}};
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        int value = -1, set = i < 5 ? 7 : 30;
        socklen_t length = sizeof value;
        getsockopt(fd, options[i][0], options[i][1], &value, &length);
        printf("option %u: %d", i, value);
        setsockopt(fd, options[i][0], options[i][1], &set, sizeof set);
        length = sizeof value;
        int result = getsockopt(fd, options[i][0], options[i][1], &value, &length);
        printf(", then %d (%d, %d)\n", value, result, length);
    }
    int value = 0;
    socklen_t length = sizeof value;
    CALL(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &length)); SHOW(value);
    CALL(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &length)); SHOW(value);
    CALL(getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &length)); SHOW(value);
    CALL(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &length)); SHOW(value);
    CALL(getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &length)); SHOW(value);
    struct linger linger = {1, 3}, shown;
    length = sizeof shown;
    CALL(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    CALL(getsockopt(fd, SOL_SOCKET, SO_LINGER, &shown, &length)); SHOW(shown.l_onoff); SHOW(shown.l_linger); SHOW(length);
    CALL(setsockopt(fd, SOL_SOCKET, 9999, &value, sizeof value));
    CALL(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, 2));
    CALL(setsockopt(0, SOL_SOCKET, SO_REUSEADDR, &value, 4));

    // The backlog goes with its listener.
    CALL((client = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CALL(connect(client, NAME(there)));
    CALL(close(fd));
    CALL(close(client));
    CALL((client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) >= 0);
    CALL(connect(client, NAME(there)));
    struct pollfd wait = {client, POLLOUT, 0};
    CALL(poll(&wait, 1, 1000)); SHOW(wait.revents);
    length = sizeof value;
    CALL(getsockopt(client, SOL_SOCKET, SO_ERROR, &value, &length)); SHOW(value);
    CALL(getsockopt(client, SOL_SOCKET, SO_ERROR, &value, &length)); SHOW(value);
    CALL(close(client));

    // Waiting is not needed, and is told: EINPROGRESS.
    struct sockaddr_in6 everything = v6("::", 0);
    CALL((fd = socket(AF_INET6, SOCK_STREAM, 0)) >= 0);
    value = 0;
    CALL(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &value, sizeof value));
    CALL(bind(fd, NAME(everything)));
    CALL(listen(fd, SOMAXCONN));
    port = port_of(fd);
    struct sockaddr_in from4 = v4("127.0.0.1", port);
    struct sockaddr_in6 from6 = v6("::1", port);
    CALL((client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) >= 0);
    CALL(connect(client, NAME(from4)));
    wait.fd = client;
    CALL(poll(&wait, 1, 1000)); SHOW(wait.revents);
    CALL(connect(client, NAME(from4)));
    CALL(connect(client, NAME(from4)));
    CALL((server = accept(fd, NULL, NULL)) >= 0);
    show_name("by IPv4", server, getsockname, port);
    show_name("by IPv4, peer", server, getpeername, port);
    fcntl(client, F_SETFL, 0);
    conversation(client, server);
    CALL((client = socket(AF_INET6, SOCK_STREAM, 0)) >= 0);
    CALL(connect(client, NAME(from6)));
    CALL((server = accept(fd, NULL, NULL)) >= 0);
    show_name("by IPv6", server, getsockname, port);
    show_name("by IPv6, peer", server, getpeername, port);
    conversation(client, server);
    int second;
    CALL((second = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CALL(bind(second, NAME(from4)));
    CALL(shutdown(fd, SHUT_RDWR));
    CALL(accept(fd, NULL, NULL));
    return 0;
}
