#include "check.h"
#include <sys/random.h>
#include <sys/auxv.h>
int main(void) {
    unsigned char a[600], b[600];
    CALL(getrandom(a, 600, 0)); CALL(getrandom(b, 600, GRND_NONBLOCK)); SHOW(memcmp(a, b, 600) != 0); long sum = 0; for (int i = 0; i < 600; i++) sum += a[i]; SHOW(sum > 600 * 90 && sum < 600 * 165); CALL(getrandom(a, 0, 0)); CALL(getrandom(a, 1, 0x100)); CALL(getrandom((void *)8, 1, 0)); CALL(getrandom(a, 1, GRND_RANDOM | 4)); SHOW(getauxval(AT_PAGESZ)); SHOW(getauxval(AT_RANDOM) != 0); SHOW(getauxval(AT_SYSINFO_EHDR) != 0); SHOW(getauxval(AT_SECURE)); SHOW(getauxval(AT_CLKTCK)); SHOW(strcmp((char *)getauxval(AT_PLATFORM), "x86_64")); SHOW(strlen((char *)getauxval(AT_EXECFN)) > 0); SHOW(((unsigned char *)getauxval(AT_RANDOM))[0] >= 0);
    return 0;
}
