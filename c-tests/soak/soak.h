/* A long run: four clients and a server, connections of all kinds in a random order, and a book in shared memory in which
 * both sides write down what they saw of each. */
#ifndef SOAK_H
#define SOAK_H
#include "events.h"
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

enum { CLIENTS = 4, AT_ONCE = 8, MAGIC = 0x5a };
enum kind { CLEAN, REFUSED, BY_POLICY, ABORTED, HALF_OPEN, KINDS_OF };

/* What the server saw of a connection, and what came of it for the client. */
enum { SAW_REQUEST = 1, SAW_ESTABLISHED = 2, SAW_END = 4, SAW_TWICE = 8, SAW_WRONG = 16 };
enum outcome { UNKNOWN, STARTED, AS_MEANT, RESTARTED, KILLED, LATE, WRONG, OUTCOMES };

struct page { atomic_uchar kind, server, outcome; };

struct book {
    uint64_t seed;
    unsigned each; /* connections of each client */
    atomic_uint epoch; /* odd while the server is down */
    atomic_uint done, restarts, clients_killed, server_wrong, server_ids, ended;
    atomic_uint settled, quiet; /* the server is not restarted any more; and has looked at itself */
    atomic_int server_pid, client_pid[CLIENTS];
    atomic_uint server_turns, client_turns[CLIENTS]; /* who hangs makes none */
    atomic_long rss_growth, rss_growth_client; /* KiB, the most of any */
    atomic_uint looks, too_much; /* at processes without a connection, and how many of them had too much */
    struct page pages[];
};

extern struct book *book;
extern int book_file;

struct tag { uint8_t magic, client, kind, unused; uint32_t number; }; /* private data of a connect */

struct page *page_of(unsigned client, unsigned number);
uint64_t next_random(uint64_t *state);
long rss_of(pid_t pid);
int fds(void); /* how many this process has open */
void note_most(atomic_long *most, long value);
void make_qp(struct rdma_cm_id *id);
void free_qps(void);
int own_objects(void);

/* held.c */
void begin_life(void);
void none_left(const char *who, int own_ids, int own_fds);
enum { CHANNEL_FDS = 4 }; /* a channel, the epoll set around it, and at most two that cmshim has for it */
double now(void);

/* supervise.c */
struct watch { unsigned seen; double since; };
void hold_book(void);
int server_lives(void);
int hangs(struct watch *w, atomic_uint *turns);
int end_of(pid_t child, atomic_uint *turns);

int run_server(void);
int run_client(unsigned client);
int check(void);
#endif
