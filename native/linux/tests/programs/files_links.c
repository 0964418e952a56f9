#include "check.h"
int main(void) {
    char folder[] = "/tmp/mayfly-XXXXXX", b[100];
    mkdtemp(folder);
    chdir(folder);
    struct stat s;
    close(open("f", O_CREAT | O_WRONLY, 0600));
    CALL(symlink("f", "l")); CALL(symlink("f", "l")); CALL(symlink("loop", "loop")); CALL(symlink("absent", "dangling")); CALL(symlink("", "e"));
    CALL(readlink("l", b, 100)); SHOW(b[0]); CALL(readlink("f", b, 100)); CALL(readlink("absent", b, 100)); CALL(readlink("l", b, 0)); CALL(readlink("dangling", b, 3));
    CALL(stat("l", &s)); SHOW(S_ISREG(s.st_mode)); CALL(lstat("l", &s)); SHOW(S_ISLNK(s.st_mode)); SHOW(s.st_size);
    CALL(open("loop", O_RDONLY)); CALL(stat("loop", &s)); CALL(stat("dangling", &s)); CALL(open("l", O_RDONLY | O_NOFOLLOW)); CALL(open("l/", O_RDONLY));
    CALL(open("dangling", O_CREAT | O_EXCL | O_WRONLY, 0600));
    CALL(close(open("dangling", O_CREAT | O_WRONLY, 0600))); CALL(stat("absent", &s));
    CALL(access("l", R_OK)); CALL(access("absent", F_OK)); unlink("absent"); CALL(access("dangling", F_OK)); CALL(access("l", 99)); CALL(access("f", X_OK));
    CALL(faccessat(AT_FDCWD, "l", F_OK, 0)); CALL(fstatat(AT_FDCWD, "l", &s, AT_SYMLINK_NOFOLLOW)); SHOW(S_ISLNK(s.st_mode));
    CALL(fstatat(AT_FDCWD, "", &s, 0)); int f = open("f", O_RDONLY); CALL(fstatat(f, "", &s, AT_EMPTY_PATH)); SHOW(S_ISREG(s.st_mode)); CALL(fstatat(AT_FDCWD, "f", &s, 0x40000));
    char name[300]; memset(name, 'n', 299); name[299] = 0; CALL(open(name, O_RDONLY)); char *path = malloc(5000); memset(path, '/', 4999); path[4999] = 0; CALL(open(path, O_RDONLY));
    unlink("l"); unlink("loop"); unlink("dangling"); unlink("f"); chdir("/"); CALL(rmdir(folder));
    int p = open("/proc/self/exe", O_RDONLY); SHOW(p >= 0); CALL(read(p, b, 4)); SHOW(!memcmp(b, "\177ELF", 4)); SHOW(readlink("/proc/self/exe", b, 100) > 1); SHOW(b[0]);
    snprintf(name, 300, "/proc/self/fd/%d", p); SHOW(readlink(name, b, 100) > 1); CALL(readlink("/proc/self/fd/999", b, 100));
    return 0;
}
