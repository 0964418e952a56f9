#include "check.h"
int main(void) { puts("before"); fflush(stdout); *(volatile int *)8 = 1; puts("after"); return 0; }
