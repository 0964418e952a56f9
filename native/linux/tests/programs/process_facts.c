#include "check.h"
#include <sys/prctl.h>
#include <sys/wait.h>
int main(int argc, char **argv, char **envp) {
    struct utsname u; CALL(uname(&u)); SHOW(strcmp(u.sysname, "Linux")); SHOW(strcmp(u.machine, "x86_64")); SHOW(argc); struct rlimit r; CALL(getrlimit(RLIMIT_STACK, &r)); SHOW(r.rlim_cur); CALL(getrlimit(99, &r)); r.rlim_cur = 5; r.rlim_max = 4; CALL(setrlimit(RLIMIT_CORE, &r)); r.rlim_cur = 0; r.rlim_max = 0; CALL(setrlimit(RLIMIT_CORE, &r)); CALL(getrlimit(RLIMIT_CORE, &r)); SHOW(r.rlim_max); CALL(prlimit(0, RLIMIT_NOFILE, NULL, &r)); SHOW(r.rlim_cur > 100); char n[16]; CALL(prctl(PR_SET_NAME, "a name that is too long")); CALL(prctl(PR_GET_NAME, n)); puts(n); CALL(prctl(PR_SET_NAME, 8)); CALL(prctl(9999)); CALL(wait(NULL)); CALL(waitpid(5, NULL, 0)); SHOW(getuid() == geteuid()); SHOW(getgid() == getegid()); SHOW(getppid() >= 0); CALL(syscall(SYS_arch_prctl, 0x1002, 1UL << 63)); CALL(syscall(SYS_arch_prctl, 0x9999, 0)); cpu_set_t c; CALL(sched_getaffinity(0, sizeof c, &c) == 0); SHOW(CPU_COUNT(&c) >= 1); CALL(sched_getaffinity(0, 1, &c)); CALL(sched_getscheduler(0)); CALL(sched_get_priority_max(SCHED_FIFO)); CALL(sched_get_priority_min(99)); CALL(syscall(SYS_pkey_alloc, 5, 0)); CALL(syscall(1000)); CALL(syscall(SYS_membarrier, 0, 0, 0) >= 0); CALL(syscall(-5)); 
    return 300;
}
