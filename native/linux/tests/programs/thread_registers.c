#include "check.h"
// Vector and x87 state belong to a thread: others may not change it across a switch.
static int wrong;
static void *work(void *x) {
    double base = (long)x * 1000.5;
    for (int i = 0; i < 200; i++) {
        double a = base + i, r;
        float control = 0;
        __asm__ volatile("movsd %1, %%xmm9\n mov $24, %%eax\n syscall\n movsd %%xmm9, %0" : "=m"(r) : "m"(a) : "rax", "rcx", "r11", "xmm9", "memory");
        if (r != a) wrong++;
        (void)control;
    }
    unsigned mode = 0x1f80 | (unsigned)((long)x % 4) << 13, back;
    __asm__ volatile("ldmxcsr %0" ::"m"(mode));
    for (int i = 0; i < 50; i++) sched_yield();
    __asm__ volatile("stmxcsr %0" : "=m"(back));
    if ((back & ~63) != (mode & ~63)) wrong++;
    return NULL;
}
int main(void) {
    pthread_t t[6];
    for (long i = 0; i < 6; i++) pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
    SHOW(wrong);
    return 0;
}
