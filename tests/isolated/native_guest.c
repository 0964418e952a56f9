/* Says what it was asked, and ends in every way there is. */
#include "../../native/guest/include/mayfly.h"

#include <pthread.h>

static char kept[4096];

static void say(const char *text) { mayfly_respond(200, "text/plain", text, strlen(text)); }

static void tell(const mayfly_request *request) {
    static char text[1 << 17];
    char query[64];
    mayfly_text header = mayfly_header(request, "x-word"), cookie = mayfly_header(request, "cookie");
    mayfly_text id = mayfly_param(request, "id");
    long length = mayfly_query(request, "q w", query, sizeof query);
    int n = snprintf(text, sizeof text, "%s %s|%s|%s|%s|%ld %s|%.*s", request->method.data, request->path.data,
                     header.data ? header.data : "-", cookie.data ? cookie.data : "-", id.data ? id.data : "-", length,
                     length < 0 ? "-" : query, (int)request->body.length, request->body.data);
    mayfly_set_header("x-quoted", "a \"b\" \\c");
    mayfly_respond(201, "text/plain", text, (size_t)n);
}

int main(void) {
    mayfly_request request;
    while (mayfly_wait_for_request(&request)) {
        const char *last = strrchr(request.path.data, '/') + 1;
        if (!strcmp(last, "keep")) {
            strcpy(kept, "a secret");
            say("kept");
        } else if (!strcmp(last, "kept")) {
            say(kept[0] ? kept : "nothing");
        } else if (!strcmp(last, "random")) {
            unsigned char bytes[16];
            char text[33];
            mayfly_random(bytes, sizeof bytes);
            for (int i = 0; i < 16; i++) sprintf(text + 2 * i, "%02x", bytes[i]);
            say(text);
        } else if (!strcmp(last, "spin")) {
            for (;;) {
            }
        } else if (!strcmp(last, "silent")) {
            for (;;) pause();
        } else if (!strcmp(last, "crash")) {
            fprintf(stderr, "about to crash\n");
            *(volatile int *)8 = 1;
        } else if (!strcmp(last, "exit")) {
            exit(3);
        } else if (!strcmp(last, "memory")) {
            for (;;) memset(malloc(1 << 20), 1, 1 << 20);
        } else if (!strcmp(last, "forgotten")) {
            continue;
        } else if (!strcmp(last, "fail")) {
            mayfly_fail("no \"luck\"");
        } else if (!strcmp(last, "large")) {
            char *large = malloc(3 << 20);
            memset(large, 'x', 3 << 20);
            mayfly_respond(200, "text/plain", large, 3 << 20);
        } else if (!strcmp(last, "over")) {
            char *large = malloc(9 << 20);
            memset(large, 'x', 9 << 20);
            mayfly_respond(200, "text/plain", large, 9 << 20);
        } else if (!strcmp(last, "bad-header")) {
            mayfly_set_header("set-cookie", "a=1");
            mayfly_set_header("bad name", "1");
            say("never");
        } else if (!strcmp(last, "print")) {
            printf("this is no frame\n");
            fflush(stdout);
            say("never");
        } else {
            tell(&request);
        }
    }
}
