/* Calls the host as its path says, and tells what it got. */
#include "../../native/guest/include/mayfly.h"

static void tell(int kind, mayfly_text value) {
    static char text[1 << 12];
    const char *names[] = {"unheard", "failed", "json", "bytes"};
    int n = snprintf(text, sizeof text, "%s %.*s", names[kind + 1], (int)value.length, value.data);
    mayfly_respond(200, "text/plain", text, (size_t)n);
}

int main(void) {
    mayfly_request request;
    while (mayfly_wait_for_request(&request)) {
        const char *last = strrchr(request.path.data, '/') + 1;
        mayfly_text value;
        if (!strcmp(last, "letters")) {
            tell(mayfly_callf(&value, "HOST.inspect", "sidjb", "a \"b\" \\ \n\xc3\xa4", -5LL, 0.5, "{\"x\":[null]}", "\0\xff", (size_t)2), value);
        } else if (!strcmp(last, "none")) {
            tell(mayfly_callf(&value, "HOST.inspect", ""), value);
        } else if (!strcmp(last, "empty")) {
            tell(mayfly_callf(&value, "HOST.inspect", "b", NULL, (size_t)0), value);
        } else if (!strcmp(last, "plain")) {
            tell(mayfly_call("twice", "[21]", NULL, 0, &value), value);
        } else if (!strcmp(last, "bytes")) {
            tell(mayfly_callf(&value, "HOST.bytes", ""), value);
        } else if (!strcmp(last, "many")) {
            long sum = 0;
            char text[32];
            for (int i = 0; i < 100; i++) {
                if (mayfly_callf(&value, "twice", "i", (long long)i) != MAYFLY_JSON) break;
                sum += atol(value.data);
            }
            mayfly_respond(200, NULL, text, (size_t)snprintf(text, sizeof text, "%ld", sum));
        } else if (!strcmp(last, "large")) {
            /* As long as calls may be, and answers; the request is what it was. */
            for (size_t length = 1; length < (1 << 20); length = length * 8 + 1) {
                char *sent = malloc(length);
                memset(sent, 'x', length);
                if (mayfly_callf(&value, "HOST.echo", "b", sent, length) != MAYFLY_BYTES || value.length != length || value.data[0] != 'x' ||
                    value.data[length - 1] != 'x' || value.data[length] != 0)
                    mayfly_fail("a large value is another");
                free(sent);
            }
            mayfly_respond(200, NULL, request.body.data, request.body.length);
        } else if (!strcmp(last, "over")) {
            char *sent = calloc(1, 1 << 20);
            tell(mayfly_callf(&value, "HOST.echo", "b", sent, (size_t)1 << 20), value);
        } else if (!strcmp(last, "forged")) {
            /* Words that are none, and arguments: the host answers each, or nothing. */
            const char *words[] = {"[\"call\",5,null,0]", "[\"call\",\"twice\",null,-1]", "[\"call\",\"twice\",null,9]", "[\"call\",\"twice\",null,\"x\"]",
                                   "[\"call\",\"twice\",null,4]", "[\"call\",\"twice\",null,2,\"bytes\"]", "[\"call\",\"twice\",null,2]"};
            char all[2048] = {0};
            for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                char message[256];
                size_t head = strlen(words[i]);
                memset(message, 0, 24);
                mayfly__put_head(message, 3, 4 + head, 4);
                mayfly__put_u32(message + 16, (uint32_t)(101 + 2 * i));
                memcpy(message + 20, words[i], head);
                memcpy(message + 20 + head, "{} x", 4);
                mayfly__write(message, 24 + head, NULL, 0);
                mayfly__reserve(&mayfly__talk, 4096);
                mayfly__talk.data[0] = 0;
                mayfly__exchange = (uint32_t)(101 + 2 * i);
                int kind = mayfly__ask(&value);
                snprintf(all + strlen(all), sizeof all - strlen(all), "%d %s\n", kind, value.data);
            }
            mayfly_respond(200, NULL, all, strlen(all));
        } else {
            tell(mayfly_callf(&value, last, ""), value);
        }
    }
}
