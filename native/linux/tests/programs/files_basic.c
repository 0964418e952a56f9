#include "check.h"
int main(void) {
    char folder[] = "/tmp/mayfly-XXXXXX", b[100];
    SHOW(mkdtemp(folder) != NULL);
    CALL(chdir(folder));
    int fd;
    CALL((fd = open("a", O_CREAT | O_RDWR | O_EXCL, 0640)) >= 0);
    CALL(open("a", O_CREAT | O_EXCL | O_RDWR, 0600));
    CALL(write(fd, "hello world", 11));
    CALL(lseek(fd, 6, SEEK_SET)); CALL(read(fd, b, 100)); CALL(read(fd, b, 100));
    CALL(lseek(fd, -3, SEEK_END)); CALL(lseek(fd, 0, SEEK_CUR)); CALL(lseek(fd, -100, SEEK_CUR)); CALL(lseek(fd, 0, 99));
    CALL(lseek(fd, 100, SEEK_SET)); CALL(write(fd, "x", 1));
    CALL(pread(fd, b, 100, 5)); CALL(pread(fd, b, 1, -1)); CALL(pwrite(fd, "ZZ", 2, 0)); CALL(pread(fd, b, 3, 0));
    printf("%.3s\n", b);
    CALL(ftruncate(fd, 5)); CALL(lseek(fd, 0, SEEK_END)); CALL(ftruncate(fd, 20)); CALL(pread(fd, b, 100, 0)); SHOW(b[10]);
    CALL(ftruncate(fd, -1));
    CALL(truncate("a", 3)); CALL(truncate("absent", 3));
    struct stat s;
    CALL(stat("a", &s)); SHOW(s.st_size); SHOW(s.st_mode & 07777); SHOW(S_ISREG(s.st_mode)); SHOW(s.st_nlink);
    int ap = open("a", O_WRONLY | O_APPEND);
    CALL(write(ap, "++", 2)); CALL(stat("a", &s)); SHOW(s.st_size);
    CALL(read(ap, b, 1));
    CALL(lseek(fd, 0, SEEK_DATA)); CALL(lseek(fd, 0, SEEK_HOLE)); CALL(lseek(fd, 500, SEEK_DATA));
    CALL(unlink("a")); CALL(unlink("a"));
    CALL(fstat(fd, &s)); SHOW(s.st_nlink); CALL(pread(fd, b, 2, 3));
    CALL(open("a/b", O_RDONLY)); CALL(open("", O_RDONLY)); CALL(open("absent", O_RDONLY));
    CALL(close(fd)); CALL(fstat(fd, &s));
    CALL((fd = open("t", O_CREAT | O_WRONLY | O_TRUNC, 0600)) >= 0); CALL(read(fd, b, 1));
    CALL(unlink("t"));
    CALL(chdir("/")); CALL(rmdir(folder));
    return 0;
}
