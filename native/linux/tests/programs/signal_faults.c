#include "check.h"
#include <setjmp.h>
static sigjmp_buf back;
static volatile int code, number_;
static void *volatile address;
static void on(int s, siginfo_t *i, void *c) { number_ = s; code = i->si_code; address = i->si_addr; siglongjmp(back, 1); }
#define TRY(statement) do { if (!sigsetjmp(back, 1)) { statement; puts("no fault"); } else printf("%s: signal %d code %d\n", #statement, number_, code); } while (0)
int main(void) {
    struct sigaction a = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
    int all[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (int i = 0; i < 5; i++) sigaction(all[i], &a, NULL);
    volatile int zero = 0;
    char *p = pages(1, PROT_READ);
    TRY(*(volatile int *)8 = 1);
    SHOW((long)address);
    TRY(*(volatile char *)p = 1);
    SHOW((char *)address == p);
    TRY(zero = 1 / zero);
    TRY(__asm__ volatile("ud2"));
    TRY(__asm__ volatile("int3"));
    TRY(__asm__ volatile("hlt"));
    TRY(*(volatile int *)0x8000000000000000 = 1);
    TRY(((void (*)(void))p)());
    SHOW((char *)address == p);
    char name[] = "/tmp/mayfly-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    write(fd, "x", 1);
    char *f = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
    TRY((void)*(volatile char *)(f + PAGE));
    SHOW((char *)address == f + PAGE);
    return 0;
}
