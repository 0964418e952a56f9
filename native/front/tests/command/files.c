// A server that does with files what its requests say: /check runs all of it, /append/TEXT adds a line to a file that was opened at the
// start, /get/NAME reads a file, /put/NAME/BYTES writes one of that size, /open/NAME tells how opening it ends.
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

static char body[1 << 16];
static int length;

static void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    length += vsnprintf(body + length, sizeof body - length, format, list);
    va_end(list);
}

// Tells a line whose call does not end as it must.
#define WANT(call, wanted)                                                                                \
    do {                                                                                                  \
        errno = 0;                                                                                        \
        long got = (call);                                                                                \
        if (got == -1) got = -errno;                                                                      \
        if (got != (wanted)) say("line %d: %s is %ld\n", __LINE__, #call, got);                           \
    } while (0)

static int is(const char *path, const char *wanted) {
    char text[256] = "";
    int file = open(path, O_RDONLY);
    if (file < 0) return -1;
    read(file, text, sizeof text - 1);
    close(file);
    return strcmp(text, wanted) == 0;
}

static int names(const char *path) {
    DIR *folder = opendir(path);
    int count = 0;
    if (!folder) return -1;
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

static void check(void) {
    struct stat status;
    char text[256];
    WANT(mkdir("/data/d", 0755), 0);
    WANT(mkdir("/data/d", 0755), -EEXIST);
    int file = open("/data/d/f", O_CREAT | O_EXCL | O_RDWR, 0644);
    WANT(file >= 0, 1);
    WANT(open("/data/d/f", O_CREAT | O_EXCL | O_RDWR, 0644), -EEXIST);
    WANT(write(file, "hello", 5), 5);
    WANT(pwrite(file, "J", 1, 0), 1);
    WANT(lseek(file, 0, SEEK_CUR), 5);
    WANT(lseek(file, -2, SEEK_END), 3);
    WANT(read(file, text, 10), 2);
    WANT(is("/data/d/f", "Jello"), 1);
    WANT(is("/data/d/../d/./f", "Jello"), 1);
    WANT(is("/data/../data/d/f", "Jello"), 1);
    WANT(fstat(file, &status), 0);
    WANT(status.st_size, 5);
    WANT(S_ISREG(status.st_mode), 1);
    WANT(status.st_mode & 0777, 0644);
    WANT(ftruncate(file, 2), 0);
    WANT(is("/data/d/f", "Je"), 1);
    WANT(fchmod(file, 0600), 0);
    WANT(chmod("/data/d/f", 04640), 0);
    WANT(stat("/data/d/f", &status), 0);
    WANT(status.st_mode & 07777, 0640);
    WANT(fsync(file), 0);
    WANT(flock(file, LOCK_EX), -ENOLCK);
    WANT(mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED, 1);
    WANT(close(file), 0);
    file = open("/data/d/f", O_WRONLY | O_APPEND);
    WANT(write(file, "!", 1), 1);
    WANT(read(file, text, 1), -EBADF);
    WANT(close(file), 0);
    WANT(is("/data/d/f", "Je!"), 1);
    WANT(truncate("/data/d/f", 1), 0);
    WANT(is("/data/d/f", "J"), 1);
    WANT(open("/data/d", O_RDWR), -EISDIR);
    WANT(open("/data/none", O_RDONLY), -ENOENT);
    WANT(open("/data/d/f/x", O_RDONLY), -ENOTDIR);
    WANT(open("/data/d/f/", O_RDONLY), -ENOTDIR);
    WANT(names("/data/d"), 3);
    WANT(chdir("/data/d"), 0);
    WANT(strcmp(getcwd(text, sizeof text), "/data/d"), 0);
    WANT(is("f", "J"), 1);
    WANT(is("../d/f", "J"), 1);
    WANT(access("../../tmp", F_OK), 0);
    int folder = open(".", O_RDONLY | O_DIRECTORY);
    WANT(mkdirat(folder, "e", 0700), 0);
    WANT(chdir("/"), 0);
    WANT(renameat(folder, "f", folder, "e/g"), 0);
    file = openat(folder, "e/g", O_RDONLY);
    WANT(read(file, text, 10), 1);
    WANT(close(file), 0);
    WANT(access("/data/d/f", F_OK), -ENOENT);
    WANT(fchdir(folder), 0);
    WANT(stat("e/g", &status), 0);
    WANT(chdir("/"), 0);
    WANT(close(folder), 0);
    WANT(rename("/data/d/e/g", "/tmp/g"), -EXDEV);
    WANT(symlink("/etc/passwd", "/data/link"), -EPERM);
    WANT(symlink("/data/d/e/g", "/tmp/link"), 0);
    WANT(is("/tmp/link", "J"), 1);
    WANT(unlink("/tmp/link"), 0);
    WANT(rmdir("/data/d/e"), -ENOTEMPTY);
    WANT(unlink("/data/d/e"), -EISDIR);
    WANT(unlink("/data/d/e/g"), 0);
    WANT(rmdir("/data/d/e"), 0);
    WANT(rmdir("/data/d"), 0);
    WANT(rmdir("/data"), -EBUSY);
    WANT(rename("/data", "/tmp/data"), -EXDEV);
    WANT(open("/tmp/new", O_CREAT | O_WRONLY, 0600) >= 0, 1);
}

int main(void) {
    static char in[8192], out[1 << 17];
    int log = open("/data/log", O_CREAT | O_WRONLY | O_APPEND, 0644);
    const char *root = getenv("ROOT") ? getenv("ROOT") : "/data";
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(80)};
    bind(listener, (void *)&name, sizeof name);
    listen(listener, 16);
    for (;;) {
        int client = accept(listener, 0, 0);
        if (client < 0 || read(client, in, sizeof in - 1) <= 0) return 1;
        strtok(in, " ");
        char *path = strtok(0, " "), text[512];
        length = 0;
        if (!strcmp(path, "/check")) {
            check();
            if (!length) say("good");
        } else if (!strncmp(path, "/append/", 8)) {
            int n = snprintf(text, sizeof text, "%s\n", path + 8);
            say("%d", write(log, text, n) == n);
        } else if (!strncmp(path, "/get/", 5)) {
            snprintf(text, sizeof text, "%s/%s", root, path + 5);
            int file = open(text, O_RDONLY);
            int n = file < 0 ? -1 : read(file, body, sizeof body - 1);
            length = n < 0 ? 0 : n;
            if (n < 0) say("error %d", errno);
            if (file >= 0) close(file);
        } else if (!strncmp(path, "/open/", 6)) {
            snprintf(text, sizeof text, "%s/%s", root, path + 6);
            int file = open(text, O_RDWR);
            say("%d", file < 0 ? errno : 0);
            if (file >= 0) close(file);
        } else if (!strncmp(path, "/put/", 5)) {
            char *size = strrchr(path, '/');
            *size++ = 0;
            snprintf(text, sizeof text, "%s/%s", root, path + 5);
            int file = open(text, O_CREAT | O_TRUNC | O_WRONLY, 0644), wrong = errno;
            long want = file < 0 ? 0 : atol(size), done = 0, n = 0;
            char *bytes = malloc(want + 1);
            memset(bytes, 'x', want);
            while (done < want && (n = write(file, bytes + done, want - done)) > 0) done += n;
            say("%ld %d", done, file < 0 ? wrong : n < 0 ? errno : 0);
            free(bytes);
            if (file >= 0) close(file);
        }
        int n = sprintf(out, "HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n", length);
        memcpy(out + n, body, length);
        write(client, out, n + length);
        close(client);
    }
}
