#include "check.h"
#include <dirent.h>
static int order(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }
static void list(const char *p) {
    struct dirent **e;
    int n = scandir(p, &e, NULL, order);
    printf("%d:", n);
    for (int i = 0; i < n; i++) printf(" %s/%d", e[i]->d_name, e[i]->d_type);
    puts("");
}
int main(void) {
    char folder[] = "/tmp/mayfly-XXXXXX";
    mkdtemp(folder);
    chdir(folder);
    CALL(mkdir("d", 0755)); CALL(mkdir("d", 0755)); CALL(mkdir("x/y", 0755)); CALL(mkdir("d/e/", 0700));
    close(open("d/f", O_CREAT | O_WRONLY, 0600));
    CALL(symlink("f", "d/l"));
    list("."); list("d");
    CALL(rmdir("d")); CALL(unlink("d")); CALL(rmdir("d/f")); CALL(rmdir("d/e")); CALL(rmdir("d/e"));
    CALL(rename("d/f", "g")); CALL(rename("d/f", "h")); CALL(rename("g", "d")); CALL(rename("d", "d/in"));
    list("."); list("d");
    CALL(mkdir("m", 0755)); CALL(rename("m", "g")); CALL(rename("m", "d")); CALL(rename("g", "k"));
    CALL(unlink("d/l")); CALL(rename("m", "d"));
    list(".");
    CALL(open("d", O_WRONLY)); CALL(open("d", O_CREAT, 0600)); CALL(open("k", O_DIRECTORY));
    int d = open("d", O_RDONLY | O_DIRECTORY);
    CALL(mkdirat(d, "in", 0755)); CALL(openat(d, "in", O_RDONLY) >= 0); CALL(unlinkat(d, "in", 0)); CALL(unlinkat(d, "in", AT_REMOVEDIR));
    CALL(openat(d, "in", O_RDONLY)); CALL(openat(999, "in", O_RDONLY)); int k = open("k", O_RDONLY); CALL(openat(k, "in", O_RDONLY));
    char b[8];
    CALL(read(d, b, 8)); CALL(write(d, b, 8)); CALL(fchdir(d)); CALL(fchdir(k)); CALL(chdir("../k")); CALL(chdir("absent"));
    char w[200];
    SHOW(getcwd(w, 5) == NULL); SHOW(errno); getcwd(w, 200); SHOW(strcmp(w + strlen(folder), "/d"));
    CALL(unlink("../k")); CALL(rmdir("../d")); CALL(open("new", O_CREAT | O_WRONLY, 0600)); SHOW(getcwd(w, 200) == NULL); CALL(chdir("/")); CALL(rmdir(folder));
    CALL(rmdir("/tmp/.")); CALL(syscall(SYS_getdents64, 0, b, 8) == -1);
    return 0;
}
