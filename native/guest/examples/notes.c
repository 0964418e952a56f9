/*
 * Keeps texts and counts its visitors by what the host gives it: `isolated = { program: './notes', bindings: ['DB'] }`, where the router has
 * `DB: kv('notes/')`. PUT keeps the body under the path, GET gives it. cc -O2 -static -I ../include -o notes notes.c
 */
#include "mayfly.h"

static void answer(int kind, mayfly_text value) {
    if (kind == MAYFLY_BYTES) mayfly_respond(200, "text/plain; charset=utf-8", value.data, value.length);
    else if (mayfly_is(value, "null")) mayfly_respond(404, "text/plain", "nothing is kept here\n", 21);
    else mayfly_respond(200, "application/json", value.data, value.length);
}

int main(void) {
    mayfly_request request;
    while (mayfly_wait_for_request(&request)) {
        const char *path = request.path.data;
        mayfly_text value;
        int kind;
        if (mayfly_is(request.method, "PUT"))
            kind = mayfly_callf(&value, "DB.set", "sb", path, request.body.data, request.body.length);
        else if (mayfly_is(request.method, "POST"))
            kind = mayfly_callf(&value, "DB.increment", "s", path);
        else
            kind = mayfly_callf(&value, "DB.get", "s", path);
        if (kind == MAYFLY_UNHEARD) mayfly_respond(200, NULL, "", 0);
        else if (kind == MAYFLY_FAILED) mayfly_fail(value.data);
        else if (mayfly_is(request.method, "PUT")) mayfly_respond(204, NULL, "", 0);
        else answer(kind, value);
    }
}
