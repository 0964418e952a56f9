// A program that does its worst: a request's header names the deed, and its body is machine code for those that take some.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/serve.h"
#include "files.h"
#include "frames.h"
#include "instructions.h"
#include "memory.h"
#include "signals.h"
#include "threads.h"

// Grows when a request left something behind.
static long requests;

static void clean(void) {
    char text[32];
    snprintf(text, sizeof text, "clean %ld", ++requests);
    say(text);
}

static void wait_for_next(void) {}
static void cut_frame(void) { all(1, "MAYF\1\2\0\0\2\0", 10); }
static void wrong_magic(void) { bad_head(3, 'f'); }
static void wrong_version(void) { bad_head(4, 2); }
static void wrong_kind(void) { bad_head(5, 1); }
static void wrong_flags(void) { bad_head(6, 1); }
static void huge_header(void) { long_frame(0xffffffff, 0); }
static void header_over(void) { long_frame((1 << 20) + 1, 0); }
static void huge_body(void) { long_frame(2, 0xffffffff); }
static void body_over(void) { long_frame(2, (1 << 20) + 1); }
static void body_at_limit(void) { long_frame(2, 1 << 20); }
static void header_at_limit(void) { long_frame(1 << 20, 0); }
static void two_at_once(void) { two_frames(0); }
static void two_apart(void) { two_frames(1); }
static void touch_pages(void) { touch_every(4096); }
static void touch_tables(void) { touch_every(2 << 20); }
static void touch_directories(void) { touch_every(1 << 30); }
static void keep_nested_task(void) { keep_flag(1 << 14); }
static void keep_direction(void) { keep_flag(1 << 10); }
static void keep_id(void) { keep_flag(1 << 21); }
static void return_far(void) { forge_return(REG_RIP, 0x800000000000, 0, 0, 0); }
static void return_high(void) { forge_return(REG_RIP, 0xffff800000000000, 0, 0, 0); }
static void return_last(void) { forge_return(REG_RIP, 0x7fffffffffff, 0, 0, 0); }
static void return_stub(void) { forge_return(REG_RIP, 0x9000, 0, 0, 0); }
static void return_stack(void) { forge_return(REG_RSP, 0x800000000000, 0, 0, 0); }
static void return_step(void) { forge_return(REG_EFL, 0x302, 0, 0, 0); }
static void return_mxcsr(void) { forge_return(REG_RAX, 0, 0, 24, 0xffffffff); say("returned"); }
static void return_features(void) { forge_return(REG_RAX, 0, 0, 512, 0xffffffff); say("returned"); }
static void return_compact(void) { forge_return(REG_RAX, 0, 0, 524, 0x80000000); say("returned"); }
static void frame_nowhere(void) { forged_frame_at(0x10); }
static void frame_far(void) { forged_frame_at(0x800000000000); }
static void frame_at_end(void) { forged_frame_at(0x7fffffffeff8); }
static void out_at_received(void) { port_at_received((const uint8_t[]){0xee, 0xcc}, 2, 0); }
static void in_at_received(void) { port_at_received((const uint8_t[]){0xec, 0xcc}, 2, 0); }
static void outs_at_received(void) { port_at_received((const uint8_t[]){0xf3, 0x6e, 0xcc}, 3, 100); }
static void ins_at_received(void) { port_at_received((const uint8_t[]){0xf3, 0x6c, 0xcc}, 3, 100); }
static void outs_without_end(void) { port_at_received((const uint8_t[]){0xf3, 0x6e, 0xcc}, 3, -1); }

#define DEED(name) {#name, name}
static const struct {
    const char *name;
    void (*act)(void);
} deeds[] = {
    DEED(clean),           DEED(wait_for_next),     DEED(cut_frame),        DEED(wrong_magic),      DEED(wrong_version),
    DEED(wrong_kind),      DEED(wrong_flags),       DEED(huge_header),      DEED(header_over),      DEED(huge_body),
    DEED(body_over),       DEED(body_at_limit),     DEED(header_at_limit),  DEED(two_at_once),      DEED(two_apart),
    DEED(byte_by_byte),    DEED(mixed_frames),      DEED(wild_writes),      DEED(touch_pages),      DEED(touch_tables),
    DEED(touch_directories), DEED(map_bomb),        DEED(split_bomb),       DEED(reserve_bomb),     DEED(map_elsewhere),
    DEED(unmap_all),       DEED(protect_all),       DEED(forget_all),       DEED(remap_storm),      DEED(half_buffers),
    DEED(heap_bomb),       DEED(fd_bomb),           DEED(pipe_bomb),        DEED(socket_bomb),      DEED(file_bomb),
    DEED(node_bomb),       DEED(deep_path),         DEED(epoll_loops),      DEED(send_descriptors), DEED(log_flood),
    DEED(close_input),     DEED(close_output),      DEED(other_output),     DEED(self_modify),      DEED(execute_data),
    DEED(execute_stack),   DEED(write_text),        DEED(ports),            DEED(low_pages),        DEED(far_addresses),
    DEED(jump_into_stubs), DEED(single_step),       DEED(keep_nested_task), DEED(keep_direction),   DEED(keep_id),
    DEED(load_segments),   DEED(set_bases),         DEED(thread_bomb),      DEED(spin_everywhere),  DEED(thread_churn),
    DEED(futex_storm),     DEED(wild_lists),        DEED(wild_clone),       DEED(forbidden),        DEED(signal_recursion),
    DEED(signal_storm),    DEED(double_fault),      DEED(wild_handler),     DEED(wild_alt_stack),   DEED(forge_flags),
    DEED(return_far),      DEED(return_high),       DEED(return_last),      DEED(return_stub),      DEED(return_stack),
    DEED(return_step),     DEED(return_mxcsr),      DEED(return_features),  DEED(return_compact),   DEED(frame_nowhere),
    DEED(frame_far),       DEED(frame_at_end),      DEED(forged_frame_of_noise), DEED(timer_storm),
    DEED(out_at_received), DEED(in_at_received),   DEED(outs_at_received), DEED(ins_at_received),  DEED(outs_without_end),
};

static void act(const char *what, size_t length) {
    const uint8_t *body = in + 16 + strlen(what);
    size_t size = length - 16 - strlen(what);
    if (!strcmp(what, "run")) return run_body(body, size);
    if (!strcmp(what, "catch")) return run_body_caught(body, size);
    for (unsigned i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (!strcmp(what, deeds[i].name)) {
            slowness = size > 0 ? *body : 1;
            return deeds[i].act();
        }
    _exit(91);
}

int main(void) { return serve(act); }
