// Machine code of the request's choice, and instructions that C has no words for.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../support/serve.h"
#include "catch.h"

static uint64_t host_stack;

// Calls code that may change every register. Flags are plain again afterwards.
__attribute__((noinline)) static void call_code(void *code) {
    __asm__ volatile("push %%rbx; push %%rbp; push %%r12; push %%r13; push %%r14; push %%r15\n"
                     "mov %%rsp, %1\n"
                     "call *%0\n"
                     "mov %1, %%rsp\n"
                     "pop %%r15; pop %%r14; pop %%r13; pop %%r12; pop %%rbp; pop %%rbx\n"
                     "pushq $0x202; popfq; cld"
                     :
                     : "a"(code), "m"(host_stack)
                     : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

static uint8_t *code_page(void) {
    return mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// The request's body is the code; `ret` follows it.
static void run_body(const uint8_t *body, size_t length) {
    uint8_t *code = code_page();
    memcpy(code, body, length);
    code[length] = 0xc3;
    call_code(code);
    say("returned");
}

// The same, but a fault is caught, and the code runs three times.
static void run_body_caught(const uint8_t *body, size_t length) {
    uint8_t *code = code_page();
    memcpy(code, body, length);
    code[length] = 0xc3;
    catch_all();
    char text[64];
    int signals[3];
    for (int i = 0; i < 3; i++) signals[i] = CAUGHT(call_code(code));
    snprintf(text, sizeof text, "caught %d %d %d", signals[0], signals[1], signals[2]);
    say(text);
}

static void self_modify(void) {
    // mov $n, %eax; ret
    uint8_t *code = code_page();
    long sum = 0;
    for (int i = 0; i < 1000; i++) {
        uint8_t bytes[] = {0xb8, i, i >> 8, 0, 0, 0xc3};
        memcpy(code + i % 7, bytes, sizeof bytes);
        sum += ((int (*)(void))(code + i % 7))();
    }
    char text[32];
    snprintf(text, sizeof text, "%ld", sum);
    say(text);
}

static void execute_data(void) {
    static uint8_t data[] = {0xc3};
    ((void (*)(void))data)();
}

static void execute_stack(void) {
    volatile uint8_t code[] = {0xc3};
    ((void (*)(void))code)();
}

static void write_text(void) { *(volatile uint8_t *)(uintptr_t)write_text = 0xc3; }

// A port for each width and direction: all of them are ring 0's.
static void ports(void) {
    catch_all();
    long refused = 0, tried = 0;
    for (unsigned port = 0; port < 2100; port += port < 300 ? 1 : slowness) {
        refused += CAUGHT(__asm__ volatile("outb %%al, %%dx" ::"a"(0), "d"(port))) == SIGSEGV;
        refused += CAUGHT(__asm__ volatile("inb %%dx, %%al" ::"d"(port) : "rax")) == SIGSEGV;
        tried += 2;
        if (port % 64 > 2) continue;
        refused += CAUGHT(__asm__ volatile("outw %%ax, %%dx" ::"a"(0), "d"(port))) == SIGSEGV;
        refused += CAUGHT(__asm__ volatile("outl %%eax, %%dx" ::"a"(0), "d"(port))) == SIGSEGV;
        refused += CAUGHT(__asm__ volatile("inl %%dx, %%eax" ::"d"(port) : "rax")) == SIGSEGV;
        tried += 3;
    }
    say(refused == tried ? "all refused" : "some went through");
}

// Every page of the low 64 KiB: none may be written, and the stubs of ring 3 be read: of calls in some machines, of the vector
// registers and what it loads in all.
static void low_pages(void) {
    catch_all();
    int readable = 0, writable = 0;
    for (uintptr_t page = 0; page < 0x10000; page += 4096) {
        volatile char *at = (volatile char *)page;
        __asm__("" : "+r"(at));
        readable += CAUGHT((void)*at) == 0;
        writable += CAUGHT(*at = 1) == 0;
    }
    say(readable <= 3 && writable == 0 ? "out of reach" : "within reach");
}

// Addresses that are no program's.
static void far_addresses(void) {
    static const uintptr_t far[] = {0x7ffffffff000, 0x7fffffffffff, 0x800000000000, 0x8000000000000000, 0xffff7fffffffffff,
                                    0xffff800000000000, 0xffff888000000000, 0xffffffff81000000, 0xffffffffff600000,
                                    0xffffffffffffffff, 0xfee00000, 0xfec00000, 0x1000000000};
    catch_all();
    int reached = 0;
    for (unsigned i = 0; i < sizeof far / sizeof *far; i++) {
        volatile char *at = (volatile char *)far[i];
        __asm__("" : "+r"(at));
        reached += CAUGHT((void)*at) == 0;
        reached += CAUGHT(*at = 1) == 0;
        reached += CAUGHT(((void (*)(void))at)()) == 0;
    }
    say(reached == 0 ? "out of reach" : "within reach");
}

// Jumps to each stub and between them, with registers as a stub would find them.
static void jump_into_stubs(void) {
    catch_all();
    char text[64];
    int went = 0;
    for (uintptr_t at = 0x8000; at < 0x9900; at += at < 0x8040 ? 1 : 16) {
        if (at == 0x8040) at = 0x9000;
        int signal = CAUGHT(__asm__ volatile("lea 1f(%%rip), %%rcx\n"
                                             "mov $0x202, %%r11\n"
                                             "mov $39, %%eax\n"
                                             "jmp *%0\n"
                                             "1:" ::"r"(at)
                                             : "rax", "rcx", "r11", "memory"));
        // Where `syscall` stays in ring 3 its stub may be called like the instruction, or its way back; everything else faults.
        if (signal == 0 && at != 0x8000 && at != 0x8002) went++;
    }
    snprintf(text, sizeof text, "%d went", went);
    say(text);
}

static volatile long steps;

static void on_step(int signal) { steps++; }

// Single-stepped through arithmetic and system calls.
static void single_step(void) {
    struct sigaction action = {.sa_handler = on_step};
    sigaction(SIGTRAP, &action, NULL);
    long id = 0, good = 0;
    for (int i = 0; i < 20; i++) {
        __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq\n"
                         "nop; nop\n"
                         "mov $39, %%eax; syscall\n"
                         "mov %%rax, %0\n"
                         "pushfq; andq $~0x100, (%%rsp); popfq"
                         : "=r"(id)::"rax", "rcx", "r11", "memory", "cc");
        good += id == syscall(SYS_getpid);
    }
    say(good == 20 && steps >= 100 ? "stepped" : "lost steps");
}

// Keeps a flag set over calls, faults and turns of the alarm.
static void keep_flag(uint64_t flag) {
    catch_all();
    for (int i = 0; i < 50; i++) {
        __asm__ volatile("pushfq; orq %0, (%%rsp); popfq; mov $39, %%eax; syscall" ::"r"(flag) : "rax", "rcx", "r11", "memory", "cc");
        CAUGHT(__asm__ volatile("pushfq; orq %0, (%%rsp); popfq; ud2" ::"r"(flag) : "memory", "cc"));
        __asm__ volatile("pushfq; orq %0, (%%rsp); popfq; mov $3000000, %%ecx; 1: dec %%ecx; jnz 1b; cld" ::"r"(flag) : "rcx", "memory", "cc");
    }
    __asm__ volatile("pushq $0x202; popfq" ::: "cc");
    say("kept");
}

// Data segments of the program's choice, at the time of calls and faults.
static void load_segments(void) {
    catch_all();
    int loaded = 0;
    for (unsigned selector = 0; selector < 0x48; selector++) {
        loaded += CAUGHT(__asm__ volatile("mov %0, %%ds" ::"r"(selector))) == 0;
        loaded += CAUGHT(__asm__ volatile("mov %0, %%es" ::"r"(selector))) == 0;
        loaded += CAUGHT(__asm__ volatile("mov %0, %%gs" ::"r"(selector))) == 0;
        syscall(SYS_getpid);
    }
    say(loaded > 0 ? "loaded" : "refused");
}

static void set_bases(void) {
    catch_all();
    static const uint64_t wild[] = {0x800000000000, 0x7fffffffffff, 0xffff800000000000, 0xffffffffffffffff, 0x8000};
    for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++) {
        CAUGHT(__asm__ volatile("wrgsbase %0" ::"r"(wild[i])));
        syscall(SYS_arch_prctl, 0x1001, wild[i]);
        CAUGHT(__asm__ volatile("mov %%gs:0, %%rax" ::: "rax", "memory"));
        syscall(SYS_getpid);
    }
    say("set");
}

// Executes port instructions at the very address at which the next request goes on: what KVM still owes them must not be paid there.
static void port_at_received(const uint8_t *code, size_t length, uint64_t count) {
    mprotect((void *)((uintptr_t)received & -4096), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(received, code, length);
    __asm__ volatile("jmp *%0" ::"r"(received), "a"(0x5a5a5a5a), "d"(0), "S"(in), "D"(in), "c"(count) : "memory");
}
