// The guest's side of frames: one in on fd 0, one out on fd 1.
#pragma once
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static uint8_t in[1 << 20];

// By how much long loops are to be shortened.
static int slowness = 1;

static void all(int fd, const void *from, size_t n) {
    const char *p = from;
    while (n > 0) {
        ssize_t k = write(fd, p, n);
        if (k <= 0) _exit(90);
        p += k;
        n -= k;
    }
}

static void answer(const char *body, size_t n) {
    uint8_t head[16] = {'M', 'A', 'Y', 'F', 1, 2, 0, 0, 2, 0, 0, 0, n, n >> 8, n >> 16, n >> 24};
    uint8_t whole[4096];
    memcpy(whole, head, 16);
    memcpy(whole + 16, "{}", 2);
    if (n <= sizeof whole - 18) {
        memcpy(whole + 18, body, n);
        all(1, whole, 18 + n);
    } else {
        all(1, whole, 18);
        all(1, body, n);
    }
}

static void say(const char *text) { answer(text, strlen(text)); }

// read(2). A snapshot is taken in it: programs go on at `received`.
ssize_t receive(int fd, void *into, size_t n);
extern uint8_t received[];
__asm__(".globl receive, received\n"
        "receive: xor %eax, %eax\n"
        "syscall\n"
        "received: ret");

// Gives each frame's header to `act`, with the length of the whole frame, which lies in `in`. Returns at the end of input.
static int serve(void (*act)(const char *what, size_t length)) {
    for (;;) {
        size_t have = 0, want = 16;
        while (have < want) {
            ssize_t n = receive(0, in + have, sizeof in - have);
            if (n <= 0) return 3;
            have += n;
            if (have >= 16) {
                uint32_t header, body;
                memcpy(&header, in + 8, 4);
                memcpy(&body, in + 12, 4);
                want = 16 + (size_t)header + body;
                if (want > sizeof in) return 4;
            }
        }
        uint32_t header;
        memcpy(&header, in + 8, 4);
        char what[64] = {0};
        if (header < sizeof what) memcpy(what, in + 16, header);
        act(what, have);
    }
}
