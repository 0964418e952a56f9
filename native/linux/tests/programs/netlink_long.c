#include "check.h"
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
static char buffer[300000];
// A question for all interfaces, with so many bytes.
static void question(char *at, int bytes) {
    struct nlmsghdr *head = (void *)at;
    *head = (struct nlmsghdr){bytes, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 7, 0};
}
// Datagrams until the end of an answer.
static void finish(int fd) {
    static char answer[1 << 16];
    for (int done = 0; !done;) {
        long count = recv(fd, answer, sizeof answer, 0);
        if (count <= 0) exit(1);
        for (struct nlmsghdr *head = (void *)answer; NLMSG_OK(head, count); head = NLMSG_NEXT(head, count))
            done |= head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR;
    }
    puts("answered");
}
int main(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    for (int i = 0; i < 3; i++) {
        int bytes = (int[]){256, 300, 5000}[i];
        memset(buffer, 0, sizeof buffer), question(buffer, bytes);
        CALL(send(fd, buffer, bytes, 0));
        finish(fd);
        CALL(write(fd, buffer, bytes));
        finish(fd);
        struct iovec parts[] = {{buffer, 100}, {buffer + 100, bytes - 100}};
        CALL(writev(fd, parts, 2));
        finish(fd);
    }
    // One that asks nothing, and behind it one that does.
    memset(buffer, 0, sizeof buffer), question(buffer, 400), question(buffer + 400, 20);
    ((struct nlmsghdr *)buffer)->nlmsg_flags = 0;
    CALL(send(fd, buffer, 420, 0));
    finish(fd);
    CALL(send(fd, buffer, sizeof buffer, 0));
    CALL(write(fd, buffer, sizeof buffer));
    return 0;
}
