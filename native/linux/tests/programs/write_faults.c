#include "check.h"
int main(void) {
    int p[2];
    pipe(p);
    char *bad = pages(2, PROT_READ | PROT_WRITE);
    memset(bad, 'x', 2 * PAGE);
    munmap(bad + PAGE, PAGE);
    CALL(write(p[1], (void *)8, 1));
    CALL(write(p[1], bad + PAGE, 1));
    CALL(write(p[1], (void *)-5L, 3));
    CALL(write(p[1], bad, 100));
    CALL(read(p[0], (void *)8, 10));
    CALL(read(p[0], bad + PAGE - 100, 100));
    CALL(pipe((int *)8));
    CALL(write(p[1], "abc", 3));
    mprotect(bad, PAGE, PROT_READ);
    CALL(read(p[0], bad, 3));
    mprotect(bad, PAGE, PROT_READ | PROT_WRITE);
    CALL(read(p[0], bad, 3));
    CALL(open((void *)8, O_RDONLY));
    CALL(open(bad + PAGE, O_RDONLY));
    CALL(stat("/", (void *)8));
    CALL(syscall(SYS_uname, 8));
    CALL(getcwd((void *)8, 100) ? 0 : -1);
    return 0;
}
