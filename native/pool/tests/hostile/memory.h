// Too much memory, too many mappings, and mappings where none may be.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../support/serve.h"
#include "catch.h"

#define ANY (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

// Touches one byte in `stride`, as far as it goes.
static void touch_every(size_t stride) {
    for (;;) {
        char *at = mmap(NULL, 1L << 40, PROT_READ | PROT_WRITE, ANY, -1, 0);
        if (at == MAP_FAILED) break;
        for (size_t i = 0; i < 1L << 40; i += stride) at[i] = 1;
    }
    say("no end");
}

// Neighbours of unlike rights stay apart. Goes on when refused.
static void map_bomb(void) {
    for (long i = 0;; i++) mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE, ANY, -1, 0);
}

static void split_bomb(void) {
    char *at = mmap(NULL, 1L << 30, PROT_READ, ANY, -1, 0);
    for (long i = 0;; i++) mprotect(at + i % 131072 * 8192, 4096, i / 131072 % 2 ? PROT_READ : PROT_NONE);
}

static void reserve_bomb(void) {
    long made = 0;
    while (made < 1000 && mmap(NULL, 1L << 40, PROT_NONE, ANY, -1, 0) != MAP_FAILED) made++;
    say(made < 1000 ? "refused" : "no end");
}

static void map_elsewhere(void) {
    static const uintptr_t places[] = {0,          0x8000,         0xf000,         0x7ffffffff000, 0x7fffffffe000 + 0x1000,
                                       1L << 47,   (1UL << 63),    -4096UL,        0xffff800000000000};
    int mapped = 0;
    char *own = mmap(NULL, 8192, PROT_READ, ANY, -1, 0);
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        void *place = (void *)places[i];
        mapped += mmap(place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, ANY | MAP_FIXED, -1, 0) != MAP_FAILED;
        mapped += mremap(own, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED;
        mapped += mprotect(place, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
        mapped += mmap(place, -4096, PROT_READ, ANY | MAP_FIXED, -1, 0) != MAP_FAILED;
    }
    mapped += (uintptr_t)syscall(SYS_brk, 0x7ffffffff000) >= 0x7ffffffff000;
    say(mapped == 0 ? "refused" : "mapped");
}

static void unmap_all(void) { syscall(SYS_munmap, 0x10000, 0x7fffffff0000 - 0x10000); }

static void protect_all(void) { syscall(SYS_mprotect, (uintptr_t)protect_all & -4096, 4096, PROT_NONE); }

static void forget_all(void) {
    char *here = (char *)((uintptr_t)__builtin_frame_address(0) & -4096);
    madvise(here, 8192, MADV_DONTNEED);
}

static void remap_storm(void) {
    char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, ANY, -1, 0);
    int rounds = 300 / slowness;
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
        at[i % 256 * 4096] = i;
        char *to = mremap(at, 1 << 20, 1 << 20, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)(0x200000000 + (long)(i % 9) * (2 << 20)));
        if (to == MAP_FAILED) break;
        at = to;
        sum += at[i % 256 * 4096] == (char)i;
        if (i % 3 == 0) mprotect(at, 1 << 19, i % 2 ? PROT_READ : PROT_NONE);
        mprotect(at, 1 << 20, PROT_READ | PROT_WRITE);
    }
    say(sum == rounds ? "all there" : "lost some");
}

// Buffers that end in the middle: the calls must say EFAULT or move what is there.
static void half_buffers(void) {
    char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, ANY, -1, 0);
    munmap(at + 4096, 4096);
    char *edge = at + 4090;
    for (long number = 0; number < 335; number++) {
        // All but those that rightly wait or end.
        if (number == 0 || number == 7 || number == 15 || number == 23 || number == 34 || number == 35 || number == 56 || number == 57 ||
            number == 58 || number == 60 || number == 130 || number == 202 || number == 230 || number == 231 || number == 232 ||
            number == 270 || number == 271 || number == 281 || number == 128)
            continue;
        syscall(number, edge, edge, edge, edge, edge, edge);
        syscall(number, 2, edge, 1L << 40, edge, 8, edge);
    }
    say("survived");
}

static void heap_bomb(void) {
    for (;;) memset(malloc(1 << 20), 1, 1 << 20);
}
