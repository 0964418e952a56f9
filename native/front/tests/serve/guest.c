// A server as simple as they come: one thread, one connection at a time, blocking calls. What it does is in the path.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int count;
static char request[1 << 20];

static void answer(int to, const char *head, const char *body, size_t length) {
    char text[512];
    int head_length = snprintf(text, sizeof text, "HTTP/1.1 %s\r\ncontent-length: %zu\r\n\r\n", head, length);
    write(to, text, head_length);
    while (length > 0) {
        ssize_t wrote = write(to, body, length);
        if (wrote <= 0) return;
        body += wrote;
        length -= wrote;
    }
}

static void serve(int from) {
    size_t have = 0, wanted = 0;
    char *end = NULL;
    while (have < sizeof request - 1) {
        ssize_t more = read(from, request + have, sizeof request - 1 - have);
        if (more <= 0) break;
        have += more;
        request[have] = 0;
        if (!end && (end = strstr(request, "\r\n\r\n"))) {
            char *length = strstr(request, "content-length: ");
            wanted = end + 4 - request + (length && length < end ? strtoul(length + 16, NULL, 10) : 0);
        }
        // What sums its body up reads it by itself.
        if (end && (have >= wanted || strstr(request, "/sum") || strstr(request, "/raw"))) break;
    }
    if (!end) return;
    char *path = strchr(request, ' ') + 1, text[64];
    count++;
    if (!strncmp(path, "/count", 6)) {
        answer(from, "200 OK", text, snprintf(text, sizeof text, "%d", count));
    } else if (!strncmp(path, "/echo", 5)) {
        answer(from, "200 OK", end + 4, have - (end + 4 - request));
    } else if (!strncmp(path, "/head", 5)) {
        answer(from, "200 OK", request, end - request);
    } else if (!strncmp(path, "/large", 6)) {
        static char large[3 << 20];
        memset(large, 'x', sizeof large);
        answer(from, "200 OK", large, sizeof large);
    } else if (!strncmp(path, "/endless", 8)) {
        static char zeros[65536];
        write(from, "HTTP/1.1 200 OK\r\n\r\n", 19);
        while (write(from, zeros, sizeof zeros) > 0) {}
    } else if (!strncmp(path, "/until-close", 12)) {
        write(from, "HTTP/1.0 200 OK\r\n\r\nall of it", 28);
    } else if (!strncmp(path, "/chunks", 7)) {
        static const char chunks[] = "HTTP/1.1 203 Half\r\ntransfer-encoding: chunked\r\nx-a: b\r\n\r\n4\r\nhalf\r\n0\r\n\r\n";
        write(from, chunks, sizeof chunks - 1);
    } else if (!strncmp(path, "/spin", 5)) {
        for (;;) __asm__ volatile("");
    } else if (!strncmp(path, "/sleep", 6)) {
        sleep(3600);
        answer(from, "200 OK", "slept", 5);
    } else if (!strncmp(path, "/memory", 7)) {
        for (;;) memset(malloc(1 << 20), 1, 1 << 20);
    } else if (!strncmp(path, "/exit", 5)) {
        exit(3);
    } else if (!strncmp(path, "/crash", 6)) {
        *(volatile int *)16 = 0;
    } else if (!strncmp(path, "/rubbish", 8)) {
        write(from, "this is no answer\r\n\r\n", 21);
    } else if (!strncmp(path, "/short", 6)) {
        write(from, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nless", 44);
    } else if (!strncmp(path, "/split", 6)) {
        write(from, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil", 84);
    } else if (!strncmp(path, "/stream", 7)) {
        static const char begin[] = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n6\r\nfirst\n\r\n";
        write(from, begin, sizeof begin - 1);
        sleep(3600);
    } else if (!strncmp(path, "/drip", 5)) {
        write(from, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", 47);
        for (int i = 0; i < 5; i++) {
            write(from, text, snprintf(text, sizeof text, "7\r\ndrip %d\n\r\n", i));
            usleep(5000);
        }
        write(from, "0\r\n\r\n", 5);
    } else if (!strncmp(path, "/flood", 6)) {
        static char zeros[65536];
        write(from, "HTTP/1.1 200 OK\r\ncontent-length: 67108864\r\n\r\n", 45);
        for (size_t left = 64 << 20; left > 0;) {
            ssize_t wrote = write(from, zeros, left < sizeof zeros ? left : sizeof zeros);
            if (wrote <= 0) return;
            left -= wrote;
        }
    } else if (!strncmp(path, "/sum", 4)) {
        unsigned sum = 0;
        size_t got = have - (end + 4 - request), length = wanted - (end + 4 - request);
        for (size_t i = 0; i < got; i++) sum += (unsigned char)end[4 + i];
        for (size_t all = got; all < length;) {
            ssize_t more = read(from, request, sizeof request);
            if (more <= 0) return;
            for (ssize_t i = 0; i < more; i++) sum += (unsigned char)request[i];
            all += more;
        }
        answer(from, "200 OK", text, snprintf(text, sizeof text, "%zu %u", length, sum));
    } else if (!strncmp(path, "/raw", 4)) {
        size_t got = have - (end + 4 - request);
        while (strncmp(request + have - 5, "0\r\n\r\n", 5)) {
            memmove(request, request + have - 5, 5);
            ssize_t more = read(from, request + 5, sizeof request - 5);
            if (more <= 0) return;
            have = more + 5;
            got += more;
        }
        answer(from, "200 OK", text, snprintf(text, sizeof text, "%zu", got));
    } else if (!strncmp(path, "/shout", 6)) {
        // Another protocol: what comes goes back in capitals, until the client ends.
        static const char begin[] = "HTTP/1.1 101 Switching Protocols\r\nupgrade: shout\r\nconnection: upgrade\r\n\r\nHELLO ";
        write(from, begin, sizeof begin - 1);
        for (ssize_t more; (more = read(from, request, sizeof request)) > 0;) {
            for (ssize_t i = 0; i < more; i++) request[i] &= ~0x20;
            if (write(from, request, more) <= 0) return;
        }
        write(from, text, snprintf(text, sizeof text, " BYE %d", count));
    } else if (!strncmp(path, "/nothing", 8)) {
    } else {
        answer(from, "404 Not Found", "", 0);
    }
}

int main(void) {
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(80)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&name, sizeof name) || listen(fd, 16)) return 1;
    for (;;) {
        int from = accept(fd, NULL, NULL);
        if (from < 0) return 2;
        serve(from);
        close(from);
    }
}
