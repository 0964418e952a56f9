// Answers each request with its path and which one it is: one thread, one request on each connection.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **arguments) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[count - 1]))};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 64)) return 1;
    for (int number = 1;; number++) {
        char request[4096] = "", path[64] = "", body[128], answer[256];
        size_t have = 0;
        int from = accept(fd, NULL, NULL);
        if (from < 0) return 2;
        while (have < sizeof request - 1) {
            ssize_t more = read(from, request + have, sizeof request - 1 - have);
            if (more <= 0) break;
            have += more;
            if (have >= 4 && !memcmp(request + have - 4, "\r\n\r\n", 4)) break;
        }
        sscanf(request, "%*s %63s", path);
        int length = snprintf(body, sizeof body, "%s %d", path, number);
        length = snprintf(answer, sizeof answer,
                          "HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s", length, body);
        if (write(from, answer, length) != length) return 3;
        close(from);
    }
}
