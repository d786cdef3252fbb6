/* write() of the program itself, which has nothing to do with channels: values, errors, signals, cancellation. A channel
 * is open meanwhile. */
#include "events.h"
#include <limits.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

static int ends[2], other[2], rings;
static const void *volatile nowhere = (void *)1;

static void on_pipe(int sig)
{
    (void)sig;
    say("SIGPIPE");
}

static void errors(void)
{
    int sockets[2], full = open("/dev/full", O_WRONLY), read_only = open("/dev/null", O_RDONLY);
    struct sigaction act = {.sa_handler = on_pipe}, ignore = {.sa_handler = SIG_IGN};
    TRY(write(ends[1], "0123456789abcdef", 16));
    TRY(write(ends[1], "", 0));
    TRY(write(ends[1], nowhere, 0));
    TRY(write(ends[1], nowhere, 16));
    TRY(write(-1, "x", 1));
    TRY(write(-1000000, "x", 1));
    TRY(write(INT_MAX, "x", 1));
    TRY(write(900, "x", 1));
    TRY(write(full, "x", 1));
    TRY(write(read_only, "x", 1));
    MUST(!pipe(other));
    close(other[0]);
    sigaction(SIGPIPE, &act, NULL);
    TRY(write(other[1], "x", 1));
    sigaction(SIGPIPE, &ignore, NULL);
    TRY(write(other[1], "x", 1));
    close(other[1]);
    TRY(write(other[1], "x", 1));
    MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    TRY(write(sockets[0], "x", 1));
    close(sockets[1]);
    TRY(write(sockets[0], "x", 1));
    MUST(!socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets));
    TRY(write(sockets[0], "0123456789abcdef", 16));
    close(sockets[0]);
    close(sockets[1]);
    close(full);
    close(read_only);
}

static void drain_pipe(void)
{
    char bytes[4096];
    set_nonblock(ends[0], 1);
    while (read(ends[0], bytes, sizeof bytes) > 0) {}
}

static void fill_pipe(void)
{
    static char bytes[4096];
    long sum = 0, n;
    set_nonblock(ends[1], 1);
    while ((n = write(ends[1], bytes, sizeof bytes)) > 0) sum += n;
    say("pipe full: %d bytes, errno %s", (int)sum, errno_name(errno));
    TRY(write(ends[1], "x", 1));
    set_nonblock(ends[1], 0);
}

static void on_alarm(int sig)
{
    (void)sig;
    rings += write(other[1], "handler", 7) == 7;
}

/* A handler writes while a write waits. */
static void interrupted(void)
{
    struct sigaction act = {.sa_handler = on_alarm};
    /* Again and again: on a busy machine the first may come before the write waits. */
    struct itimerval soon = {{0, 30000}, {0, 30000}}, never = {{0, 0}, {0, 0}};
    MUST(!pipe(other) && !sigaction(SIGALRM, &act, NULL));
    setitimer(ITIMER_REAL, &soon, NULL);
    TRY(write(ends[1], "x", 1));
    setitimer(ITIMER_REAL, &never, NULL);
    say("handler wrote: %d", rings > 0);
    close(other[0]);
    close(other[1]);
}

static void cleanup(void *unused)
{
    (void)unused;
    say("clean-up handler");
}

static void *blocked(void *fd)
{
    pthread_cleanup_push(cleanup, NULL);
    say("written after all: %zd", write(*(int *)fd, "x", 1));
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelled(void)
{
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, blocked, &ends[1]);
    let_pass(50);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    say("cancelled: %d", result == PTHREAD_CANCELED);
    drain_pipe();
    pthread_create(&thread, NULL, blocked, &ends[1]);
    pthread_join(thread, &result);
}

static void large_numbers(void)
{
    struct rlimit files = {80000, 80000};
    static const int numbers[] = {1023, 1024, 4095, 4096, 65535, 65536, 70000, 79999};
    char back[16];
    MUST(!setrlimit(RLIMIT_NOFILE, &files));
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        MUST(dup2(ends[1], numbers[i]) == numbers[i]);
        ssize_t n = write(numbers[i], "0123456789abcdef", 16);
        say("descriptor %d: written %zd, read %zd", numbers[i], n, read(ends[0], back, 16));
        close(numbers[i]);
        TRY(write(numbers[i], "x", 1));
    }
}

static void streams(void)
{
    char line[64] = "";
    FILE *out = fdopen(dup(ends[1]), "w"), *in = fdopen(dup(ends[0]), "r");
    MUST(out && in);
    say("stdio: %d", fprintf(out, "%s %d\n", "a line", 7));
    MUST(!fflush(out) && fgets(line, sizeof line, in));
    say("stdio: %s", line);
    fclose(out);
    fclose(in);
}

int main(void)
{
    struct rdma_event_channel *ch = new_channel(1);
    struct rdma_cm_id *id = resolving(ch, 1);
    settle();
    MUST(!pipe(ends));
    errors();
    drain_pipe();
    fill_pipe();
    interrupted();
    cancelled();
    drain_pipe();
    large_numbers();
    streams();
    say("took %ld", take(ch));
    say("took %ld", take(ch));
    TRY(write(ch->fd, "x", 1)); /* no command */
    TRY(write(ch->fd, "\377\0\0\0\0\0\0\0", 8)); /* an unknown one */
    TRY(write(ch->fd, nowhere, 16));
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
    return 0;
}
