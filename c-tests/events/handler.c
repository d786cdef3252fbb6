/* usage: handler [nonblock]    Channels are closed, duplicated and replaced in a signal handler, in which memory may be neither
 * allocated nor freed (signal-safety(7)). This program's own malloc and free count. */
#include "events.h"

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static volatile int inside, counted;
static void count(void) { counted += inside; }
void *malloc(size_t n) { count(); return __libc_malloc(n); }
void *calloc(size_t n, size_t size) { count(); return __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { count(); return __libc_realloc(p, n); }
void *aligned_alloc(size_t align, size_t n) { count(); return __libc_memalign(align, n); }
int posix_memalign(void **p, size_t align, size_t n) { count(); *p = __libc_memalign(align, n); return *p ? 0 : ENOMEM; }
void free(void *p) { count(); __libc_free(p); }

enum { CHANNELS = 16, MORE = 5 }; /* more of them than room is made for at once */
static struct rdma_event_channel *ch[CHANNELS];
static int null, results[8], more;

static void handler(int signal)
{
    (void)signal;
    int n = 0, copy;
    inside = 1;
    results[n++] = close(ch[0]->fd);
    results[n++] = dup2(null, ch[1]->fd) == ch[1]->fd;
    results[n++] = close_range(ch[2]->fd, ch[2]->fd, 0);
    copy = dup(ch[3]->fd);
    results[n++] = copy >= 0;
    results[n++] = close(copy);
    results[n++] = fcntl(ch[4]->fd, F_SETFL, fcntl(ch[4]->fd, F_GETFL)); /* the flags that it has */
    results[n++] = close(40000);
    for (int i = MORE; i < CHANNELS; i++) more += close(ch[i]->fd);
    inside = 0;
}

int main(int argc, char **argv)
{
    struct rdma_cm_id *ids[CHANNELS][3], *listener;
    struct sockaddr_in here = cm_addr(lab_addr(), 0);
    (void)argv;
    end_if_hung(40);
    null = open("/dev/null", O_RDONLY);
    for (int i = 0; i < CHANNELS; i++) {
        ch[i] = new_channel(argc > 1);
        for (long k = 0; k < 3; k++) ids[i][k] = resolving(ch[i], k);
        MUST(!rdma_create_id(ch[i], &listener, NULL, RDMA_PS_TCP) && !rdma_bind_addr(listener, (struct sockaddr *)&here));
        MUST(!rdma_listen(listener, 4));
    }
    settle();
    for (int i = 0; i < CHANNELS; i++) say("took %ld", take(ch[i])); /* the others may be read ahead */
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    for (int i = 0; i < 7; i++) say("result %d", results[i]);
    say("closing the others: %d", more);
    say("allocated or freed in the handler: %d", counted);
    say("took %ld", take(ch[3]));
    say("took %ld", take(ch[4]));
    (void)ids;
    return 0;
}
