// Connections by names of Linux's own and by paths.
#include "check.h"
#include <sys/un.h>

static socklen_t name_of(struct sockaddr_un *name, const char *path, int length) {
    memset(name, 0, sizeof *name);
    name->sun_family = AF_UNIX;
    memcpy(name->sun_path, path, length);
    return offsetof(struct sockaddr_un, sun_path) + length;
}

int main(void) {
    struct sockaddr_un name, shown;
    char path[64], bytes[64];
    int fd, client, server;
    int length = snprintf(path, sizeof path, "%cmayfly-%d", 0, getpid());
    socklen_t size = name_of(&name, path, length), shown_size = sizeof shown;
    CALL((client = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
    CALL(connect(client, (struct sockaddr *)&name, size));
    CALL((fd = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
    CALL(listen(fd, 2));
    CALL(bind(fd, (struct sockaddr *)&name, 200));
    CALL(bind(fd, (struct sockaddr *)&name, size));
    CALL(bind(fd, (struct sockaddr *)&name, size));
    CALL(bind(client, (struct sockaddr *)&name, size));
    CALL(listen(fd, 1));
    CALL(getsockname(fd, (struct sockaddr *)&shown, &shown_size));
    SHOW(shown_size == size);
    SHOW(memcmp(&shown, &name, size));
    CALL(send(client, "x", 1, MSG_NOSIGNAL));
    CALL(recv(client, bytes, 1, 0));
    CALL(connect(client, (struct sockaddr *)&name, size));
    CALL((server = accept(fd, NULL, NULL)) >= 0);
    shown_size = sizeof shown;
    CALL(getpeername(server, (struct sockaddr *)&shown, &shown_size)); SHOW(shown_size);
    shown_size = sizeof shown;
    CALL(getpeername(client, (struct sockaddr *)&shown, &shown_size)); SHOW(shown_size == size);
    CALL(write(client, "hello", 5));
    CALL(read(server, bytes, 64));
    CALL(setsockopt(server, 6, 1, bytes, 4));
    struct ucred who;
    shown_size = sizeof who;
    CALL(getsockopt(server, SOL_SOCKET, SO_PEERCRED, &who, &shown_size)); SHOW(shown_size); SHOW(who.pid == getpid());
    CALL(close(server));
    CALL(read(client, bytes, 64));
    CALL(connect(client, (struct sockaddr *)&name, size));

    length = snprintf(path, sizeof path, "/tmp/mayfly-test-%d", getpid());
    size = name_of(&name, path, length + 1);
    CALL((fd = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
    CALL((client = socket(AF_UNIX, SOCK_STREAM, 0)) >= 0);
    CALL(connect(client, (struct sockaddr *)&name, size));
    CALL(bind(fd, (struct sockaddr *)&name, size));
    CALL(connect(client, (struct sockaddr *)&name, size));
    CALL(listen(fd, 1));
    CALL(connect(client, (struct sockaddr *)&name, size));
    CALL((server = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0);
    shown_size = sizeof shown;
    CALL(getsockname(server, (struct sockaddr *)&shown, &shown_size)); SHOW(shown_size == size);
    SHOW(strcmp(shown.sun_path, path));
    CALL(write(server, "there", 5));
    CALL(read(client, bytes, 64));
    unlink(path);
    return 0;
}
