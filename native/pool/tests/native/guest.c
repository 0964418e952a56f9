// A program by `mayfly.h`, as people write them.
#include "../../../guest/include/mayfly.h"

static long count;

static void forget(void) { count = 0; }

int main(void) {
    mayfly_request request;
    mayfly_before_snapshot(forget);
    while (mayfly_wait_for_request(&request)) {
        char text[256];
        const char *what = request.path.data;
        mayfly_text host = mayfly_header(&request, "host"), id = mayfly_param(&request, "id");
        if (!strcmp(what, "/crash")) abort();
        if (!strcmp(what, "/fail")) {
            mayfly_fail("a \"reason\"\n");
            continue;
        }
        if (!strcmp(what, "/echo")) {
            mayfly_respond(200, NULL, request.body.data, request.body.length);
            continue;
        }
        int n = snprintf(text, sizeof text, "%ld %s %s %s %.*s", ++count, request.method.data, host.data ? host.data : "-",
                         id.data ? id.data : "-", (int)request.body.length, request.body.data);
        mayfly_respond(200, "text/plain", text, (size_t)n);
    }
}
