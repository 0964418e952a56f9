#include "check.h"
int main(void) {
    char b[100];
    struct pollfd f = {0, POLLIN, 0};
    CALL(poll(&f, 1, 60000)); SHOW(f.revents & POLLIN); CALL(read(0, b, 4)); printf("%.4s\n", b); long n, sum = 0; while ((n = read(0, b, 100)) > 0) sum += n; SHOW(sum); CALL(read(0, b, 1)); CALL(lseek(0, 0, SEEK_SET)); CALL(write(1, "", 0)); CALL(fcntl(0, F_GETFL) & O_ACCMODE); CALL(isatty(0)); CALL(close(0)); CALL(read(0, b, 1)); CALL(open("/dev/null", O_RDONLY)); fflush(stdout); fprintf(stderr, "to the log\n"); CALL(write(2, "x\n", 2));
    return 0;
}
