// What the programs share: a call is shown with its result and the name of its error, so that two runs can be compared as text.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096L

// A call with its result.
#define CALL(call)                                                                                     \
    do {                                                                                               \
        errno = 0;                                                                                     \
        long result_ = (long)(call);                                                                   \
        printf("%s = %ld%s%s\n", #call, result_, result_ == -1 ? " " : "", result_ == -1 ? strerrorname_np(errno) : ""); \
    } while (0)

// A call that gives an address: whether it worked.
#define PLACE(call)                                                                            \
    do {                                                                                       \
        errno = 0;                                                                             \
        void *result_ = (void *)(call);                                                        \
        printf("%s %s\n", #call, result_ == MAP_FAILED ? strerrorname_np(errno) : "mapped");   \
    } while (0)

// A value.
#define SHOW(value) printf("%s = %ld\n", #value, (long)(value))

static inline void *pages(long count, int protection) {
    void *at = mmap(NULL, count * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(99);
    }
    return at;
}

// Waits until `count` threads sleep on `from`, and moves them to `to`: who is still on the way there cannot be moved.
static inline void gather(int *from, int *to, int count) {
    while (count > 0) {
        long moved = syscall(SYS_futex, from, FUTEX_CMP_REQUEUE, 0, (void *)(long)count, to, *from);
        if (moved > 0) count -= moved;
        sched_yield();
    }
}

// Waits until a counter of other threads has come to `value`.
static inline void await(int *counter, int value) {
    while (__atomic_load_n(counter, __ATOMIC_SEQ_CST) < value) sched_yield();
}
