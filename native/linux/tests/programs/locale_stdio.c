#include "check.h"
#include <locale.h>
#include <math.h>
int main(int argc, char **argv) {
    setlocale(LC_ALL, "C"); printf("%.6f %e %g %a\n", M_PI, 1e300, 0.1, 3.0); char b[100]; snprintf(b, sizeof b, "%s|%5d|%-5d|%05.1f", "text", 42, 42, 2.55); puts(b); FILE *f = tmpfile(); SHOW(f != NULL); fprintf(f, "%d lines\n%s\n", 2, "second"); rewind(f); while (fgets(b, sizeof b, f)) printf("> %s", b); fclose(f); SHOW(strtol("0x1f", NULL, 0)); SHOW((long)(sqrt(2) * 1e6)); struct tm t; time_t z = 86400 * 365; gmtime_r(&z, &t); SHOW(t.tm_year); errno = 0; SHOW(sqrt(-1) != sqrt(-1)); printf("%s\n", getenv("NOT_THERE") ?: "no such variable"); setenv("X", "y", 1); puts(getenv("X")); char *m = malloc(1 << 26); memset(m, 1, 1 << 22); free(m); fputs("last line without an end", stdout); return 0;
}
