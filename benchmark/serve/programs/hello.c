// As little of a server as there can be: one thread, one request on each connection.
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char answer[] =
    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 12\r\nconnection: close\r\n\r\nhello world!";

int main(int count, char **arguments) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[count - 1]))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 64)) return 1;
    for (;;) {
        char request[4096];
        size_t have = 0;
        int from = accept(fd, NULL, NULL);
        if (from < 0) return 2;
        while (have < sizeof request) {
            ssize_t more = read(from, request + have, sizeof request - have);
            if (more <= 0) break;
            have += more;
            if (have >= 4 && !memcmp(request + have - 4, "\r\n\r\n", 4)) break;
        }
        write(from, answer, sizeof answer - 1);
        close(from);
    }
}
