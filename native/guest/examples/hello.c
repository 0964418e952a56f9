/* Says hello, by the name that the query has. cc -O2 -static -I ../include -o hello hello.c */
#include "mayfly.h"

int main(void) {
    mayfly_request request;
    while (mayfly_wait_for_request(&request)) {
        char name[64], text[128];
        if (mayfly_query(&request, "name", name, sizeof name) < 0) strcpy(name, "world");
        mayfly_respond(200, "text/plain; charset=utf-8", text, (size_t)snprintf(text, sizeof text, "Hello, %s!\n", name));
    }
}
