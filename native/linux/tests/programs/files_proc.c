#include "check.h"
static int has(const char *path, const char *word) { static char b[100000]; int fd = open(path, O_RDONLY); if (fd < 0) return -1; long n = 0, k; while ((k = read(fd, b + n, sizeof b - 1 - n)) > 0) n += k; b[n] = 0; close(fd); return strstr(b, word) != NULL; }
int main(void) {
    SHOW(has("/proc/self/status", "VmRSS:")); SHOW(has("/proc/self/status", "Threads:\t1")); SHOW(has("/proc/meminfo", "MemTotal:")); SHOW(has("/proc/self/cgroup", "::/")); SHOW(has("/proc/self/maps", "[stack]")); SHOW(has("/proc/self/comm", "files_proc")); SHOW(has("/proc/cpuinfo", "processor")); SHOW(has("/proc/self/stat", "(files_proc) R ")); SHOW(has("/proc/version", "Linux version")); SHOW(has("/proc/self/mountinfo", " / "));
    SHOW(has("/proc/absent", "")); struct stat s; CALL(stat("/proc/self/maps", &s)); SHOW(s.st_size); SHOW(S_ISREG(s.st_mode)); int fd = open("/proc/self/status", O_RDONLY); char a[10], b[10]; CALL(read(fd, a, 5)); CALL(pread(fd, b, 5, 0)); SHOW(memcmp(a, b, 5)); CALL(lseek(fd, 1, SEEK_SET)); CALL(read(fd, b, 4)); SHOW(memcmp(a + 1, b, 4)); 
    CALL(fstat(fd, &s)); SHOW(s.st_size);
    return 0;
}
