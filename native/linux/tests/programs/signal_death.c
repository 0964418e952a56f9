#include "check.h"
int main(void) { puts("before"); fflush(stdout); raise(SIGTERM); puts("after"); return 0; }
