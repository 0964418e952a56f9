#include "check.h"
// Each line of the maps must be well formed, ascending, and name the stack, which holds a local variable.
int main(void) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[1000];
    unsigned long last = 0, here = (unsigned long)&line, main_ = (unsigned long)main;
    int bad = 0, stack = 0, code = 0;
    while (fgets(line, sizeof line, f)) {
        unsigned long a, b, offset, inode;
        char flags[8], device[20];
        if (sscanf(line, "%lx-%lx %7s %lx %19s %lu", &a, &b, flags, &offset, device, &inode) != 6) bad++;
        if (a < last || b <= a) bad++;
        if (a >= 1UL << 47) continue;
        last = b;
        if (here >= a && here < b) stack = strstr(line, "[stack]") != NULL && !strncmp(flags, "rw", 2);
        if (main_ >= a && main_ < b) code = !strncmp(flags, "r-x", 3);
    }
    printf("bad %d stack %d code %d\n", bad, stack, code);
    pthread_attr_t attributes;
    void *start; size_t size;
    CALL(pthread_getattr_np(pthread_self(), &attributes));
    CALL(pthread_attr_getstack(&attributes, &start, &size));
    SHOW((char *)start <= (char *)&line && (char *)&line < (char *)start + size);
    return 0;
}
