#include "check.h"
// Arguments at the edge of their types, and rubbish above those that are integers.
static int word, started;
static void *waiter(void *x) {
    __atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
    return NULL;
}
int main(void) {
    const long high = 0xdead00000000L, most = 0x7fffffffffffffffL;
    int fd = memfd_create("file", 0), p[2];
    struct timeval t = {0, 1200000};
    CALL(write(fd, "abc", 3));
    PLACE(syscall(SYS_mmap, 0, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, -PAGE));
    PLACE(syscall(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, fd, 1L << 63));
    PLACE(syscall(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, fd, most - PAGE + 1));
    PLACE(syscall(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE, fd, most - 2 * PAGE + 1));
    PLACE(syscall(SYS_mmap, 0, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, -PAGE));
    CALL(syscall(SYS_fallocate, fd, 0, most, most));
    CALL(syscall(SYS_fallocate, fd, 0, most, 1L));
    CALL(syscall(SYS_lseek, fd | high, 2L, high));
    CALL(syscall(SYS_fcntl, fd, high | F_GETFD, 0));
    CALL(syscall(SYS_fcntl, fd, F_DUPFD, high | 20));
    CALL(syscall(SYS_dup3, fd, high | 30, high));
    CALL(syscall(SYS_poll, 0, high, high));
    CALL(pipe(p)); CALL(write(p[1], "x", 1));
    fd_set r;
    FD_ZERO(&r); FD_SET(p[0], &r);
    CALL(syscall(SYS_select, high | 16, &r, NULL, NULL, &t));
    CALL(select(0, NULL, NULL, NULL, &t));
    t = (struct timeval){0, -1}; CALL(syscall(SYS_select, 0, NULL, NULL, NULL, &t));
    t = (struct timeval){-1, 0}; CALL(syscall(SYS_select, 0, NULL, NULL, NULL, &t));
    t = (struct timeval){-1, 1000001}; CALL(syscall(SYS_select, 0, NULL, NULL, NULL, &t));
    t = (struct timeval){most, most}; CALL(syscall(SYS_select, 0, NULL, NULL, NULL, &t));
    void *page = pages(1, PROT_READ);
    CALL(msync(page, PAGE, MS_ASYNC | MS_SYNC)); CALL(msync(page, PAGE, 8)); CALL(msync(page, PAGE, MS_SYNC | MS_INVALIDATE));
    int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR), epoll = epoll_create1(0);
    struct epoll_event e = {EPOLLIN};
    CALL(epoll_ctl(epoll, EPOLL_CTL_ADD, null, &e)); CALL(epoll_ctl(epoll, EPOLL_CTL_ADD, zero, &e));
    // A wake-up of none, or of fewer, is one of one.
    pthread_t waiters[3];
    for (int i = 0; i < 3; i++) pthread_create(&waiters[i], NULL, waiter, NULL);
    while (__atomic_load_n(&started, __ATOMIC_SEQ_CST) < 3) sched_yield();
    usleep(20000);
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE, 0)); CALL(syscall(SYS_futex, &word, FUTEX_WAKE, -1));
    CALL(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, -5, NULL, NULL, -1)); CALL(syscall(SYS_futex, &word, FUTEX_WAKE, 0));
    for (int i = 0; i < 3; i++) pthread_join(waiters[i], NULL);
    return 0;
}
