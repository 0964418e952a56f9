#include "check.h"
int main(void) {
    CALL(syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0));
    CALL(syscall(SYS_clone, CLONE_SIGHAND, 0, 0, 0, 0));
    CALL(syscall(SYS_clone3, 8, 64));
    CALL(syscall(SYS_clone3, 8, 63));
    CALL(syscall(SYS_clone3, 8, 1 << 20));
    CALL(syscall(SYS_set_robust_list, 0, 23));
    CALL(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), 0));
    CALL(syscall(SYS_tgkill, getpid(), 99999, 0));
    CALL(syscall(SYS_tgkill, -1, 5, 0));
    CALL(syscall(SYS_tkill, 0, 0));
    CALL(kill(getpid(), 65));
    CALL(kill(getpid(), 0));
    CALL(kill(99999999, 0));
    SHOW(getpid() == syscall(SYS_gettid));
    return 0;
}
