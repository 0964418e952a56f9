#include "check.h"
int main(void) {
    struct statx s;
    memset(&s, 0xee, sizeof s);
    int fd = open("/dev/null", O_RDONLY);
    CALL(statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &s)); SHOW(S_ISDIR(s.stx_mode)); SHOW((s.stx_mask & STATX_BASIC_STATS) == STATX_BASIC_STATS);
    CALL(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &s)); SHOW(S_ISCHR(s.stx_mode)); SHOW(s.stx_size);
    CALL(statx(AT_FDCWD, "/absent", 0, STATX_BASIC_STATS, &s)); CALL(statx(fd, "", 0, STATX_BASIC_STATS, &s)); CALL(statx(0, NULL, 0, 0, NULL)); CALL(statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, (void *)8)); CALL(statx(AT_FDCWD, "/", 0x8000000, STATX_BASIC_STATS, &s)); CALL(statx(AT_FDCWD, "/", 0, 0x80000000, &s));
    return 0;
}
