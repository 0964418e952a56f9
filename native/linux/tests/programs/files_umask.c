#include "check.h"
int main(void) {
    char folder[] = "/tmp/mayfly-XXXXXX";
    mkdtemp(folder); chdir(folder);
    struct stat s;
    CALL(umask(027)); CALL(umask(077)); close(open("f", O_CREAT | O_WRONLY, 0666)); stat("f", &s); SHOW(s.st_mode & 0777); mkdir("d", 0777); stat("d", &s); SHOW(s.st_mode & 0777);
    CALL(chmod("f", 0644)); stat("f", &s); SHOW(s.st_mode & 0777); int fd = open("f", O_RDWR); CALL(fchmod(fd, 0600)); fstat(fd, &s); SHOW(s.st_mode & 0777); CALL(chmod("absent", 0)); CALL(umask(022));
    CALL(posix_fallocate(fd, 0, 1000)); fstat(fd, &s); SHOW(s.st_size); CALL(fallocate(fd, 0, 0, 0)); CALL(fallocate(fd, 0, -1, 5)); CALL(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM)); CALL(fdatasync(fd));
    struct flock l = {.l_type = F_WRLCK}; CALL(fcntl(fd, F_SETLK, &l)); CALL(fcntl(fd, F_GETLK, &l)); SHOW(l.l_type);
    unlink("f"); rmdir("d"); chdir("/"); CALL(rmdir(folder));
    return 0;
}
