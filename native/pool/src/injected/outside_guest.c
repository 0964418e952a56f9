// Connects to 192.0.2.1:80 for each of its clients, and reads there.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(80)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    listen(fd, 8);
    inet_pton(AF_INET, "192.0.2.1", &name.sin_addr);
    for (;;) {
        int from = accept(fd, 0, 0), to = socket(AF_INET, SOCK_STREAM, 0);
        char byte = '-';
        if (!connect(to, (struct sockaddr *)&name, sizeof name)) read(to, &byte, 1);
        write(from, &byte, 1);
        close(to);
        close(from);
    }
}
