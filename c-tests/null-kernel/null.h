/* A kernel that is not there: the commands of ucma (rdma_user_cm.h) and the verbs are answered inside the process, beneath
 * the real librdmacm and beneath cmshim. Preload null-kernel.so last.
 *
 * What is like the kernel: a channel is one descriptor, which poll, select and epoll see truly, which may be duplicated and made
 * non-blocking, and on which a reader blocks, is interrupted, restarted and cancelled as in ucma_get_event; a file belongs to
 * the credentials that opened it (EACCES for others, also for a forked child); events, events_reported, the listen backlog and
 * the states of ids follow ucma.c and cma.c; connections loop back inside the process.
 * What is not: events are there at once, nothing takes time, no TIMEWAIT_EXIT, no multicast, no completions, one process. */
#ifndef NULL_KERNEL_H
#define NULL_KERNEL_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_cma_abi.h>
#include <stdint.h>
#include <sys/types.h>

#define NULL_GUID 0x1234567890abcdefULL
enum { CHANNELS = 256, IDS = 1024, EVENTS = 256, NOBODY = -1 };

enum state { IDLE, BOUND, ADDRESS, ROUTE, ASKED, REQUESTED, ANSWERED, CONNECTED, LISTENS, DISCONNECTED, GONE };

struct event {
    uint64_t uid;
    int owner; /* the id whose events_reported it counts for; a connect request's is the listener */
    int client; /* of a connect request; NOBODY where it has gone */
    struct sockaddr_storage from;
    uint32_t kind;
    int32_t status;
    struct ucma_abi_conn_param conn;
};

struct channel {
    int used;
    ino_t inode;
    pid_t process;
    unsigned long cred;
    int fd; /* the number it was opened with: only a first guess where to look */
    int count;
    struct event queue[EVENTS];
};

struct id {
    int used;
    struct channel *file;
    uint64_t uid;
    uint32_t reported;
    enum state state;
    int peer, backlog, leaving; /* leaving: it has asked for the end and waits for the answer */
    struct sockaddr_storage src, dst;
};

extern struct id ids[IDS];

/* files.c */
struct channel *channel_of(int fd);
unsigned long current_cred(void);

/* events.c: a byte waits in the channel's descriptor for each event, so that it is readable. */
int post(int owner, uint32_t kind, int status, const struct ucma_abi_conn_param *conn, int client);
int take(struct channel *from, struct event *to);
void discard(struct channel *from, int owner);
void move(struct channel *from, struct channel *to, int owner);
void gone_client(int client);

/* ucma.c: 0 or -errno; called with the lock held. */
int command(struct channel *file, const void *buf, size_t size);
void release(struct channel *file);
int deliver(struct channel *file, const struct event *event, const struct ucma_abi_get_event *to);
#endif
