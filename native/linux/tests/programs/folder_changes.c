#include "check.h"
#include <dirent.h>
// A folder that changes while it is read: every name that stays is seen once, none that is gone again and again.
static DIR *folder;
static int count(void) {
    int seen = 0;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) seen += entry->d_name[0] != '.';
    return seen;
}
int main(void) {
    char path[] = "/tmp/mayfly-XXXXXX", name[64], other[64];
    SHOW(mkdtemp(path) != NULL);
    CALL(chdir(path));
    for (int i = 0; i < 3000; i++) {
        sprintf(name, "a-name-that-is-rather-long-%d", i);
        close(open(name, O_CREAT | O_WRONLY, 0600));
    }
    folder = opendir(".");
    SHOW(count());
    rewinddir(folder);
    SHOW(count());
    // Places that were told stay where they are.
    rewinddir(folder);
    for (int i = 0; i < 1000; i++) readdir(folder);
    long place = telldir(folder);
    strcpy(other, readdir(folder)->d_name);
    SHOW(count() > 0);
    seekdir(folder, place);
    SHOW(strcmp(other, readdir(folder)->d_name));
    // Names that move while they are listed end.
    rewinddir(folder);
    struct dirent *entry;
    int moved = 0;
    while (moved < 10000 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != 'a') continue;
        sprintf(other, "again-%d", moved++);
        rename(entry->d_name, other);
    }
    SHOW(moved < 10000);
    rewinddir(folder);
    SHOW(count());
    // What removes a tree: no name may be missed.
    rewinddir(folder);
    int gone = 0;
    while ((entry = readdir(folder)) != NULL)
        if (entry->d_name[0] != '.') gone += unlink(entry->d_name) == 0;
    SHOW(gone);
    CALL(chdir("/"));
    CALL(rmdir(path));
    SHOW(count());
    return 0;
}
