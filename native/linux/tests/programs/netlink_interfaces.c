// The interfaces as getifaddrs(3) and rtnetlink(7) list them; of the host's, the loopback alone is shown.
#include "check.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/un.h>

static void show_interfaces(void) {
    struct ifaddrs *list;
    CALL(getifaddrs(&list));
    for (struct ifaddrs *one = list; one; one = one->ifa_next) {
        char text[64] = "", mask[64] = "";
        if (strcmp(one->ifa_name, "lo") || !one->ifa_addr || one->ifa_addr->sa_family != AF_INET) continue;
        inet_ntop(AF_INET, &((struct sockaddr_in *)one->ifa_addr)->sin_addr, text, sizeof text);
        inet_ntop(AF_INET, &((struct sockaddr_in *)one->ifa_netmask)->sin_addr, mask, sizeof mask);
        printf("%s %s %s\n", one->ifa_name, text, mask);
        SHOW(one->ifa_flags & (IFF_UP | IFF_LOOPBACK | IFF_RUNNING));
    }
    freeifaddrs(list);
    struct if_nameindex *names = if_nameindex();
    SHOW(names != NULL);
    SHOW(names && names[0].if_index);
}

static void ask(int fd, int type, int flags, int sequence) {
    struct { struct nlmsghdr header; struct rtgenmsg body; } question = {
        { sizeof question, type, flags, sequence, 0 }, { AF_UNSPEC }
    };
    CALL(send(fd, &question, sizeof question, 0));
}

int main(void) {
    int fd;
    char bytes[65536];
    struct sockaddr_nl name = { AF_NETLINK }, shown;
    socklen_t size = sizeof shown;
    show_interfaces();
    CALL(socket(AF_NETLINK, SOCK_STREAM, NETLINK_ROUTE));
    CALL(socket(AF_NETLINK, SOCK_RAW, 200));
    CALL((fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) >= 0);
    CALL(bind(fd, (struct sockaddr *)&name, sizeof name));
    CALL(getsockname(fd, (struct sockaddr *)&shown, &size));
    SHOW(size);
    SHOW(shown.nl_family);
    SHOW(shown.nl_pid != 0);
    struct pollfd wanted = { fd, POLLIN | POLLOUT };
    CALL(poll(&wanted, 1, 0));
    SHOW(wanted.revents);
    CALL(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT));
    // What is no message, and one that asks nothing.
    CALL(send(fd, "short", 5, 0));
    ask(fd, RTM_GETADDR, 0, 1);
    CALL(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT));
    ask(fd, RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 2);
    CALL(poll(&wanted, 1, 1000));
    SHOW(wanted.revents);
    struct iovec part = { bytes, 20 };
    struct msghdr message = { &shown, sizeof shown, &part, 1 };
    CALL(recvmsg(fd, &message, MSG_PEEK));
    SHOW(message.msg_flags);
    SHOW(message.msg_namelen);
    SHOW(shown.nl_pid);
    part.iov_len = sizeof bytes;
    SHOW(recvmsg(fd, &message, 0) > 20);
    struct nlmsghdr *first = (struct nlmsghdr *)bytes;
    SHOW(first->nlmsg_type);
    SHOW(first->nlmsg_flags & NLM_F_MULTI);
    SHOW(first->nlmsg_seq);
    SHOW(((struct ifinfomsg *)NLMSG_DATA(first))->ifi_type);
    return 0;
}
