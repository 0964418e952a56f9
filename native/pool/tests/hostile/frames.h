// Answers that are none.
#pragma once
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../support/serve.h"

static uint8_t head_of(uint8_t *head, uint32_t header, uint32_t body) {
    memcpy(head, "MAYF\1\2\0", 8);
    memcpy(head + 8, &header, 4);
    memcpy(head + 12, &body, 4);
    return 16;
}

// A head with one byte changed, and nothing after it.
static void bad_head(int at, uint8_t value) {
    uint8_t head[16];
    head_of(head, 0, 0);
    head[at] = value;
    all(1, head, 16);
}

static void long_frame(uint32_t header, uint32_t body) {
    static uint8_t part[65536];
    uint8_t head[16];
    head_of(head, header, body);
    all(1, head, 16);
    for (uint64_t left = (uint64_t)header + body; left > 0;) {
        size_t n = left < sizeof part ? left : sizeof part;
        all(1, part, n);
        left -= n;
    }
}

static void two_frames(int apart) {
    uint8_t frames[36];
    for (int i = 0; i < 2; i++) {
        head_of(frames + 18 * i, 2, 0);
        memcpy(frames + 18 * i + 16, "{}", 2);
    }
    if (apart) {
        all(1, frames, 18);
        all(1, frames + 18, 18);
    } else {
        all(1, frames, 36);
    }
}

static void byte_by_byte(void) {
    uint8_t frame[21];
    head_of(frame, 2, 3);
    memcpy(frame + 16, "{}abc", 5);
    for (int i = 0; i < 21; i++) {
        struct iovec vectors[] = {{frame, 0}, {frame + i, 1}, {frame, 0}};
        writev(1, vectors, 3);
    }
}

static void *half_frame(void *from) {
    all(1, from, 9);
    return NULL;
}

static void mixed_frames(void) {
    uint8_t frame[18];
    head_of(frame, 2, 0);
    memcpy(frame + 16, "{}", 2);
    pthread_t other;
    pthread_create(&other, NULL, half_frame, frame);
    pthread_join(other, NULL);
    all(1, frame, 18);
}

static void wild_writes(void) {
    struct iovec vectors[] = {{(void *)0x8000, 4096}, {(void *)-1, -1}, {NULL, 1L << 62}};
    write(1, (void *)0x8000, 16);
    write(1, in, -1);
    write(1, (void *)-4096, 1L << 40);
    writev(1, vectors, 3);
    writev(1, vectors, -1);
    writev(1, (void *)0x7ffffffff000, 1024);
    say("survived");
}
