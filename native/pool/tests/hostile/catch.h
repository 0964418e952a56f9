// Runs what may fault, and tells by which signal it ended.
#pragma once
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf caught_at;
static char caught_stack[65536];

static void on_caught(int signal) { siglongjmp(caught_at, signal); }

static void catch_all(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGSYS};
    stack_t stack = {.ss_sp = caught_stack, .ss_size = sizeof caught_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_caught, .sa_flags = SA_ONSTACK | SA_NODEFER};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

// The signal that ended `statement`, or 0.
#define CAUGHT(statement)                          \
    ({                                             \
        int signal_ = sigsetjmp(caught_at, 1);     \
        if (signal_ == 0) {                        \
            statement;                             \
        }                                          \
        signal_;                                   \
    })
