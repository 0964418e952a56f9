// Answers requests with what the Python function says: `?points=100000`.
#include "pi.cpp" // by `pythran -e`

#include "mayfly.h"

int main() {
    mayfly_request request;
    while (mayfly_wait_for_request(&request)) {
        char points[16], text[64];
        long count = mayfly_query(&request, "points", points, sizeof points) < 0 ? 0 : strtol(points, NULL, 10);
        if (count < 1 || count > 100000000) {
            mayfly_respond(400, "text/plain", "want ?points=, 1 to 100000000\n", 30);
            continue;
        }
        int seed;
        mayfly_random(&seed, sizeof seed);
        double pi = __pythran_pi::estimate()(count, (long)(seed & 0x7fffffff));
        mayfly_respond(200, "text/plain", text, (size_t)snprintf(text, sizeof text, "%.6f\n", pi));
    }
}
