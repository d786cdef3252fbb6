/* A kernel that is not there: the commands of ucma (rdma_user_cm.h) and the verbs are answered inside the process, beneath
 * the real librdmacm and beneath cmshim. Preload null-kernel.so last.
 *
 * What is like the kernel: a channel is one descriptor, which poll, select and epoll see truly, which may be duplicated and made
 * non-blocking, and on which a reader blocks, is interrupted, restarted and cancelled as in ucma_get_event; a file belongs to
 * the credentials that opened it (EACCES for others, also for a forked child); events, events_reported, the listen backlog and
 * the states of ids follow ucma.c and cma.c; connections loop back inside the process,
 * or go to others that name the same file (on a tmpfs, empty at first) in NULL_KERNEL_WORLD.
 * What is not: events are there at once, nothing takes time, no TIMEWAIT_EXIT, no multicast, no completions. */
#ifndef NULL_KERNEL_H
#define NULL_KERNEL_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_cma_abi.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define NULL_GUID 0x1234567890abcdefULL
enum { CHANNELS = 256, IDS = 1024, EVENTS = 256, HOLDERS = 64, NOBODY = -1 };
enum object { QPS, CQS, PDS, MRS, OBJECTS };

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
    struct sockaddr_un name; /* where a byte for it is sent to */
    socklen_t name_size;
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

/* How many objects of the device a process has. */
struct holder { pid_t process; int held[OBJECTS]; };

/* All that this kernel knows. Of this process alone, or of all that name the same file in NULL_KERNEL_WORLD. */
struct world {
    pthread_mutex_t mutex;
    int made;
    uint16_t next_port;
    struct channel channels[CHANNELS];
    struct id ids[IDS];
    struct holder holders[HOLDERS];
};

extern struct world *world;
extern int shared;

/* world.c */
void enter(sigset_t *old);
void leave_kernel(const sigset_t *old);
int concerns_us(const struct channel *file);
void holds(enum object kind, int more);

/* files.c */
struct channel *channel_of(int fd);
unsigned long current_cred(void);
extern __thread int calling; /* the descriptor of the command under way, or -1 */

/* events.c: a byte waits in the channel's descriptor for each event, so that it is readable. */
int post(int owner, uint32_t kind, int status, const struct ucma_abi_conn_param *conn, int client);
int take(struct channel *from, struct event *to);
void discard(struct channel *from, int owner);
void move(struct channel *from, struct channel *to, int owner);
void gone_client(int client);
void wake(struct channel *c);

/* ucma.c: 0 or -errno; called with the lock held. */
int command(struct channel *file, const void *buf, size_t size);
void release(struct channel *file);
int deliver(struct channel *file, const struct event *event, const struct ucma_abi_get_event *to);
#endif
