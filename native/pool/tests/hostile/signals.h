// Signals without end, and returns from signals that never were.
#pragma once
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../support/serve.h"
#include "catch.h"

static void nest(int signal) { raise(signal); }

static void signal_recursion(void) {
    struct sigaction action = {.sa_handler = nest, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static volatile long signals_seen;

static void count_signal(int signal) { signals_seen++; }

static void signal_storm(void) {
    struct sigaction action = {.sa_handler = count_signal};
    for (int signal = 1; signal < 65; signal++) sigaction(signal, &action, NULL);
    int rounds = 2000 / slowness;
    for (int i = 0; i < rounds; i++) {
        int signal = 1 + i % 64;
        if (signal != SIGKILL && signal != SIGSTOP && signal != 32 && signal != 33) kill(getpid(), signal);
    }
    say(signals_seen > rounds * 3 / 4 ? "all came" : "lost some");
}

static void fault_in_handler(int signal) { *(volatile int *)8 = 1; }

static void double_fault(void) {
    signal(SIGSEGV, fault_in_handler);
    *(volatile int *)8 = 1;
}

static void wild_handler(void) {
    struct sigaction action = {.sa_handler = (void (*)(int))0x800000000000};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

static void wild_alt_stack(void) {
    char *gone = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = gone, .ss_size = 65536};
    munmap(gone, 65536);
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

// What the forged return changes.
static struct {
    int reg;
    uint64_t value;
    uint64_t segments;
    int vector_at;
    uint32_t vector_word;
} forged;

static void forge(int signal, siginfo_t *info, void *context) {
    ucontext_t *c = context;
    c->uc_mcontext.gregs[forged.reg] = forged.value;
    if (forged.segments != 0) c->uc_mcontext.gregs[REG_CSGSFS] = forged.segments;
    if (forged.vector_at != 0) memcpy((char *)c->uc_mcontext.fpregs + forged.vector_at, &forged.vector_word, 4);
}

static void forge_return(int reg, uint64_t value, uint64_t segments, int at, uint32_t word) {
    struct sigaction action = {.sa_sigaction = forge, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    forged.reg = reg;
    forged.value = value;
    forged.segments = segments;
    forged.vector_at = at;
    forged.vector_word = word;
    raise(SIGUSR1);
}

// All flags set, ring 0's selectors: IOPL stays 0, and so `cli` faults.
static void forge_flags(void) {
    uint64_t flags = 0;
    // Without TF, NT and AC, which do what they say: the first would trap, the last fault on the C library's copies.
    forge_return(REG_EFL, ~0x44100UL, 0x0010001000100008, 0, 0);
    __asm__ volatile("pushfq; pop %0; cld" : "=r"(flags));
    catch_all();
    int signal = CAUGHT(__asm__ volatile("cli"));
    uint16_t cs;
    __asm__ volatile("mov %%cs, %0" : "=r"(cs));
    char text[64];
    snprintf(text, sizeof text, "iopl %d ring %d cli %d", (int)(flags >> 12 & 3), cs & 3, signal);
    say(text);
}

// A frame that no handler got, at an address of the program's choice.
static void forged_frame_at(uintptr_t rsp) {
    __asm__ volatile("mov %0, %%rsp; mov $15, %%eax; syscall; ud2" ::"r"(rsp) : "memory");
}

static void forged_frame_of_noise(void) {
    static uint8_t noise[8192] __attribute__((aligned(64)));
    unsigned state = 1;
    for (unsigned i = 0; i < sizeof noise; i++) noise[i] = (state = state * 1664525 + 1013904223) >> 24;
    forged_frame_at((uintptr_t)noise + 1024);
}

static void timer_storm(void) {
    struct itimerval often = {{0, 1}, {0, 1}};
    struct sigaction action = {.sa_handler = count_signal};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (;;) {
    }
}
