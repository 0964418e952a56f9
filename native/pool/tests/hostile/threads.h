// Too many threads, wild locks, and calls that make processes or touch other ones.
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../support/serve.h"

static volatile int never;

static void *wait_for_ever(void *p) {
    while (!never) usleep(1000000);
    return p;
}

static void *spin(void *p) {
    while (!never) {
    }
    return p;
}

static void thread_bomb(void) {
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    long made = 0;
    while (made < 10000 && pthread_create(&thread, &small, wait_for_ever, NULL) == 0) made++;
    say(made < 10000 ? "refused" : "no end");
}

static void spin_everywhere(void) {
    pthread_t thread;
    for (int i = 0; i < 20; i++) pthread_create(&thread, NULL, spin, NULL);
    spin(NULL);
}

static void *come_and_go(void *p) { return p; }

static void thread_churn(void) {
    pthread_t thread;
    for (int i = 0; i < 200 / slowness; i++) {
        pthread_create(&thread, NULL, come_and_go, NULL);
        pthread_join(thread, NULL);
    }
    say("churned");
}

static int words[64];

static void *futex_user(void *p) {
    unsigned state = (uintptr_t)p * 2654435761u + 1;
    struct timespec soon = {0, 1000};
    for (int i = 0; i < 100 / slowness; i++) {
        state = state * 1664525 + 1013904223;
        int *word = &words[state >> 8 & 63], *other = &words[state >> 16 & 63];
        // Wait, wake, requeue and their kin; the timeout doubles as a count.
        syscall(SYS_futex, word, state >> 24 & 15, 0, &soon, other, state);
        syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0);
        syscall(SYS_futex, (char *)word + 1, state & 15, 0, &soon, (void *)0x8000, 1);
    }
    return p;
}

static void futex_storm(void) {
    pthread_t threads[16];
    for (uintptr_t i = 0; i < 16; i++) pthread_create(&threads[i], NULL, futex_user, (void *)i);
    // One that sleeps for good in a word is woken with the rest.
    for (int i = 0; i < 16; i++) {
        struct timespec end = {0, 0};
        while (pthread_timedjoin_np(threads[i], NULL, &end) == ETIMEDOUT) {
            for (int w = 0; w < 64; w++) syscall(SYS_futex, &words[w], FUTEX_WAKE, 1000, 0, 0, 0);
            usleep(100);
        }
    }
    say("calm");
}

static void wild_lists(void) {
    syscall(SYS_set_robust_list, (void *)-8, 24);
    syscall(SYS_set_robust_list, (void *)0x8000, 24);
    syscall(SYS_set_tid_address, (void *)0x7ffffffff000);
    syscall(SYS_exit, 0);
}

static void wild_clone(void) {
    // A thread with neither stack nor thread-local storage in any program's memory.
    syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS, 1L << 47, 0, 0,
            1L << 63);
    syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, 8L, 0, 0, 0);
    for (;;) sched_yield();
}

// Processes, tracing, mounts, modules, the machine, sockets of the network, BPF, io_uring, user faults, namespaces: none of them.
static void forbidden(void) {
    static const short calls[] = {
        SYS_fork, SYS_vfork, SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_open,
        SYS_pidfd_getfd, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_swapon, SYS_reboot, SYS_init_module,
        SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_iopl, SYS_ioperm, SYS_modify_ldt, SYS_bpf, SYS_perf_event_open,
        SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_unshare, SYS_setns, SYS_seccomp, SYS_keyctl, SYS_add_key,
        SYS_request_key, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_socket,
        SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_shmget, SYS_semget, SYS_msgget, SYS_mq_open, SYS_fanotify_init,
        SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_lookup_dcookie, SYS_acct, SYS_quotactl, SYS_syslog, SYS_vhangup,
        SYS_memfd_secret, SYS_process_madvise, SYS_move_pages, SYS_migrate_pages, SYS_splice, SYS_vmsplice, SYS_tee, SYS_io_setup};
    int worked = 0;
    char text[64];
    long first = 0;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        long result = syscall(calls[i], 2, 1, 0, 0, 0, 0);
        long second = syscall(calls[i], "/bin/sh", in, 4096, in, 4096, in);
        if (result < 0 && second < 0) continue;
        worked++;
        if (first == 0) first = calls[i];
    }
    snprintf(text, sizeof text, "%d worked, first %ld", worked, first);
    say(worked == 0 ? "none worked" : text);
}
