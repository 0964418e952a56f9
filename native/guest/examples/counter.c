/*
 * Counts its requests, which only a program that keeps its state can: `isolated = { program: './counter', ephemeral: false }`. Reset after
 * each request, as is the default, it answers 1 for ever. cc -O2 -static -I ../include -o counter counter.c
 */
#include "mayfly.h"

static long count;

/* The warm-up has counted its own requests. */
static void forget(void) { count = 0; }

int main(void) {
    mayfly_request request;
    mayfly_before_snapshot(forget);
    while (mayfly_wait_for_request(&request)) {
        char text[32];
        mayfly_respond(200, "text/plain", text, (size_t)snprintf(text, sizeof text, "%ld\n", ++count));
    }
}
