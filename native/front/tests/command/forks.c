// A server that asks for another process: as it boots with "boot", which it does not survive, and in each request.
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int forked(const char *when) {
    int failed = fork() < 0 ? errno : 0;
    fprintf(stderr, "fork %s: %d\n", when, failed == ENOSYS);
    return failed == 0;
}

int main(int argc, char **argv) {
    static char in[8192];
    if (argc > 1 && !strcmp(argv[1], "boot") && !forked("first")) return 3;
    if (argc > 1 && !strcmp(argv[1], "helper")) forked("helper");
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(80)};
    bind(listener, (void *)&name, sizeof name);
    listen(listener, 16);
    for (;;) {
        int client = accept(listener, 0, 0);
        if (client < 0 || read(client, in, sizeof in) <= 0) return 1;
        const char *body = forked("request") ? "forked" : "alone";
        dprintf(client, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n%s", body);
        close(client);
    }
}
