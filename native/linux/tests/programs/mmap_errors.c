#include "check.h"
int main(void) {
    PLACE(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    PLACE(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0));
    PLACE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0));
    PLACE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 1000, 0));
    PLACE(syscall(SYS_mmap, 0, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 1L));
    PLACE(mmap((void *)1, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    PLACE(mmap(NULL, -1L, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char *p = pages(2, PROT_READ);
    PLACE(mmap(p, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0));
    int pipes[2];
    CALL(pipe(pipes));
    PLACE(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, pipes[0], 0));
    CALL(munmap(p, 0));
    CALL(munmap(p + 1, PAGE));
    CALL(munmap(p, PAGE));
    CALL(munmap(p, PAGE));
    CALL(munmap(p + PAGE, PAGE));
    CALL(munmap((void *)-PAGE, PAGE));
    return 0;
}
