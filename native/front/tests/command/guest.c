// A server that counts its requests and draws a number in each.
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void) {
    static char in[8192], out[512], body[64];
    int listener = socket(AF_INET, SOCK_STREAM, 0), count = 0;
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(80)};
    bind(listener, (void *)&name, sizeof name);
    listen(listener, 16);
    for (;;) {
        int client = accept(listener, 0, 0);
        if (client < 0 || read(client, in, sizeof in) <= 0) return 1;
        unsigned drawn;
        getrandom(&drawn, sizeof drawn, 0);
        int length = snprintf(body, sizeof body, "%d %08x\n", ++count, drawn);
        int n = snprintf(out, sizeof out,
                         "HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s", length, body);
        write(client, out, n);
        close(client);
    }
}
