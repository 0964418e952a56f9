// Changes of memory that are more than one piece of work, beside a thread that always wants to run: each is whole when it answers.
#include "check.h"
#define MANY 2000L
static int stop;
static void *run(void *unused) {
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) sched_yield();
    return NULL;
}
int main(void) {
    char *at = pages(MANY, PROT_READ | PROT_WRITE);
    memset(at, 1, MANY * PAGE);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    CALL(mprotect(at, MANY * PAGE, PROT_READ)); SHOW(at[0] + at[MANY * PAGE - 1]); int zero = open("/dev/zero", O_RDONLY); CALL(read(zero, at + (MANY - 1) * PAGE, 1)); CALL(read(zero, at, 1)); CALL(mprotect(at, MANY * PAGE, PROT_READ | PROT_WRITE)); at[(MANY - 1) * PAGE] = 2; at[0] = 3;
    char *to = mremap(at, MANY * PAGE, 2 * MANY * PAGE, MREMAP_MAYMOVE); SHOW(to != MAP_FAILED); SHOW(to[0] * 10 + to[(MANY - 1) * PAGE]); SHOW(to[MANY * PAGE]); long sum = 0; for (long i = 0; i < 2 * MANY; i++) sum += to[i * PAGE + 5]; SHOW(sum);
    CALL(madvise(to, MANY * PAGE, MADV_DONTNEED)); sum = 0; for (long i = 0; i < MANY * PAGE; i++) sum += to[i]; SHOW(sum);
    memset(to, 4, 2 * MANY * PAGE); unsigned char *there = malloc(2 * MANY); CALL(mincore(to, 2 * MANY * PAGE, there)); sum = 0; for (long i = 0; i < 2 * MANY; i++) sum += there[i] & 1; SHOW(sum);
    // Every other page has rights of its own: thousands of mappings.
    for (long i = 0; i < 2 * MANY; i += 2) mprotect(to + i * PAGE, PAGE, PROT_READ);
    CALL(mprotect(to, 2 * MANY * PAGE, PROT_READ | PROT_WRITE)); memset(to, 5, 2 * MANY * PAGE); SHOW(to[PAGE * MANY]);
    for (long i = 0; i < 2 * MANY; i += 2) mprotect(to + i * PAGE, PAGE, PROT_READ);
    CALL(madvise(to, 2 * MANY * PAGE, MADV_DONTNEED)); sum = 0; for (long i = 0; i < 2 * MANY; i++) sum += to[i * PAGE]; SHOW(sum);
    PLACE(mmap(to, 2 * MANY * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)); memset(to, 6, 2 * MANY * PAGE); SHOW(to[PAGE * MANY]);
    munmap(to + 100 * PAGE, PAGE); CALL(mprotect(to, 2 * MANY * PAGE, PROT_READ)); CALL(madvise(to, 2 * MANY * PAGE, MADV_DONTNEED)); SHOW(to[(2 * MANY - 1) * PAGE]); CALL(mincore(to, 2 * MANY * PAGE, there));
    CALL(munmap(to, 2 * MANY * PAGE)); CALL(mincore(to + (2 * MANY - 1) * PAGE, PAGE, there)); CALL(munmap(to, 2 * MANY * PAGE));
    char *heap = sbrk(0); CALL(brk(heap + MANY * PAGE)); memset(heap, 7, MANY * PAGE); CALL(brk(heap)); CALL(brk(heap + MANY * PAGE)); sum = 0; for (long i = 0; i < MANY * PAGE; i++) sum += heap[i]; SHOW(sum);
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST); pthread_join(thread, NULL);
    return 0;
}
