/* Helpers for the tests of event channels. */
#ifndef EVENTS_TEST_H
#define EVENTS_TEST_H
#include "cm.h"
#include <fcntl.h>
#include <sys/epoll.h>

HELPER void set_nonblock(int fd, int on)
{
    int flags = fcntl(fd, F_GETFL);
    MUST(flags != -1 && !fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

HELPER struct rdma_event_channel *new_channel(int nonblock)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    MUST(ch);
    if (nonblock) set_nonblock(ch->fd, 1);
    return ch;
}

/* One ADDR_RESOLVED will follow. */
HELPER void resolve(struct rdma_cm_id *id)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON));
}

HELPER struct rdma_cm_id *resolving(struct rdma_event_channel *ch, long number)
{
    struct rdma_cm_id *id;
    MUST(!rdma_create_id(ch, &id, (void *)number, RDMA_PS_TCP));
    resolve(id);
    return id;
}

/* When this returns, every address asked for before is resolved and its event queued: the kernel does them in a row. */
HELPER void settle(void)
{
    struct rdma_event_channel *ch = new_channel(0);
    struct rdma_cm_id *id = resolving(ch, 0);
    cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
}

/* When this returns, the connects begun before have reached their listener: they are answered in a row, too. */
HELPER void await_requests(void)
{
    struct rdma_event_channel *sc = new_channel(0), *cc = new_channel(0);
    struct rdma_conn_param p = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
    struct sockaddr_in here = cm_addr(lab_addr(), 0);
    struct rdma_cm_id *listener, *id;
    MUST(!rdma_create_id(sc, &listener, NULL, RDMA_PS_TCP) && !rdma_bind_addr(listener, (struct sockaddr *)&here));
    MUST(!rdma_listen(listener, 1));
    here.sin_port = rdma_get_src_port(listener);
    MUST(!rdma_create_id(cc, &id, NULL, RDMA_PS_TCP));
    MUST(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&here, SOON));
    cm_expect(cc, RDMA_CM_EVENT_ADDR_RESOLVED);
    MUST(!rdma_resolve_route(id, SOON));
    cm_expect(cc, RDMA_CM_EVENT_ROUTE_RESOLVED);
    MUST(!cm_qp(id) && !rdma_connect(id, &p) && cm_ready(sc, SOON));
    let_pass(50); /* two processors may answer in two rows */
    rdma_destroy_id(listener); /* with its request unread */
    cm_expect(cc, RDMA_CM_EVENT_REJECTED);
    cm_drop_id(id);
    rdma_destroy_event_channel(cc);
    rdma_destroy_event_channel(sc);
}

/* Take an event: the number of its id; -1 when there is none now. */
HELPER long take(struct rdma_event_channel *ch)
{
    struct rdma_cm_event *ev;
    errno = 0;
    if (rdma_get_cm_event(ch, &ev)) {
        if (errno != EAGAIN) say("rdma_get_cm_event errno %s", errno_name(errno));
        return -1;
    }
    long number = (long)ev->id->context;
    if (ev->status) say("%s %d", rdma_event_str(ev->event), ev->status);
    rdma_ack_cm_event(ev);
    return number;
}

/* Does it say now that an event can be had? */
HELPER int readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1 && p.revents == POLLIN;
}

HELPER int epoll_with(int fd, unsigned events)
{
    struct epoll_event e = {.events = events};
    int set = epoll_create1(0);
    MUST(set >= 0 && !epoll_ctl(set, EPOLL_CTL_ADD, fd, &e));
    return set;
}

HELPER int wakes(int set)
{
    struct epoll_event e;
    return epoll_wait(set, &e, 1, 0);
}

/* The kernel's ids of this process, from `rdma resource`. */
HELPER int kernel_ids(void)
{
    char line[1024], mine[32];
    int found = 0;
    snprintf(mine, sizeof mine, " pid %d ", (int)getpid());
    FILE *list = popen("unset LD_PRELOAD; rdma resource show cm_id", "r");
    MUST(list);
    while (fgets(line, sizeof line, list)) found += strstr(line, mine) != NULL;
    pclose(list);
    return found;
}

/* One program plays several parts, named on its command line, one after another: starting a program is what costs. */
HELPER int play_parts(int argc, char **argv, void (*part)(const char *name))
{
    end_if_hung(40);
    settle(); /* opens the device */
    for (int i = 1; i < argc; i++) {
        say("== %s", argv[i]);
        part(argv[i]);
    }
    return argc < 2;
}

HELPER int is(const char *name, const char *part)
{
    return strstr(name, part) != NULL;
}

/* The fewest of several counts: another thread may be writing a log file just now. */
HELPER int open_files(void)
{
    int fewest = 1024;
    for (int i = 0; i < 6; i++) {
        int found = 0;
        for (int fd = 0; fd < 1024; fd++) found += fcntl(fd, F_GETFD) != -1;
        if (found < fewest) fewest = found;
        let_pass(5);
    }
    return fewest;
}
#endif
