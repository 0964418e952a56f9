#include "check.h"
int main(void) {
    int a = open("/dev/null", O_RDONLY), b = open("/dev/null", O_RDONLY), c = open("/dev/null", O_RDONLY);
    SHOW(b - a); SHOW(c - b);
    close(b);
    SHOW(open("/dev/zero", O_RDONLY) - b);
    CALL(close(-1));
    CALL(close(100000));
    CALL(read(-1, NULL, 0));
    CALL(write(100000, "x", 1));
    return 0;
}
