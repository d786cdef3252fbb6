/* Descriptor numbers that were a channel's, or behind it, are used again for the program's own files.
 * Not a byte of ours goes there, and writes that look like commands arrive as they are. */
#include "events.h"

enum { FILES = 24, LAST = 64 };
static int before[LAST];
static const char command[16] = {12, 0, 0, 0, 8, 0, 80, 1}; /* what GET_EVENT looks like */

static void use(const char *who, int nonblock)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    struct rdma_cm_id *ids[3];
    if (!ch) {
        say("%s: no channel, errno %s", who, errno_name(errno));
        return;
    }
    if (nonblock) set_nonblock(ch->fd, 1);
    for (int i = 0; i < 3; i++) ids[i] = resolving(ch, i);
    for (int i = 0; i < 3; i++) {
        MUST(cm_ready(ch, SOON));
        say("%s: took %ld", who, take(ch));
    }
    for (int i = 0; i < 3; i++) rdma_destroy_id(ids[i]);
    rdma_destroy_event_channel(ch);
}

static void note_open(void)
{
    for (int fd = 0; fd < LAST; fd++) before[fd] = fcntl(fd, F_GETFD) != -1;
}

static void close_new(void)
{
    for (int fd = 3; fd < LAST; fd++)
        if (!before[fd]) close(fd);
}

/* A channel that is dead behind librdmacm's back, with events unread. */
static void dead_channel(int taken)
{
    struct rdma_event_channel *ch = new_channel(1);
    for (int i = 0; i < 3; i++) resolving(ch, i);
    settle();
    for (int i = 0; i < taken; i++) say("took %ld", take(ch));
    close_new();
    struct rdma_cm_id *id;
    TRY(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
}

static void fill(int *files)
{
    for (int i = 0; i < FILES; i++) {
        char name[] = "/dev/shm/events-reuse-XXXXXX";
        MUST((files[i] = mkstemp(name)) >= 3 && !unlink(name));
    }
}

static void check(const char *when, const int *files, int written)
{
    char read_back[64];
    int right = 0;
    for (int i = 0; i < FILES; i++) {
        ssize_t n = pread(files[i], read_back, sizeof read_back, 0);
        right += n == written && !memcmp(read_back, command, n);
    }
    say("%s: files as they should be: %d of %d", when, right, FILES);
}

/* The program closes channel->fd itself and gives its number to a file. */
static void closed_alone(void)
{
    struct rdma_event_channel *ch = new_channel(1);
    int number = ch->fd, ends[2];
    char back[16];
    MUST(!pipe(ends));
    close(number);
    int file = dup(ends[1]);
    ssize_t written = write(file, command, sizeof command), got = read(ends[0], back, sizeof back);
    say("same number: %d, written %zd, read %zd, the same bytes: %d", file == number, written, got, !memcmp(back, command, sizeof back));
    close_new();
}

int main(void)
{
    int files[FILES];
    end_if_hung(15);
    use("at first", 1);
    note_open();
    dead_channel(0);
    fill(files);
    check("empty", files, 0);
    for (int i = 0; i < FILES; i++) MUST(write(files[i], command, sizeof command) == sizeof command);
    check("written", files, sizeof command);
    use("beside the files", 1);
    use("beside the files", 0);
    check("after more channels", files, sizeof command);
    close_new();
    dead_channel(1);
    fill(files);
    use("once more", 1);
    check("after that", files, 0);
    close_new();
    closed_alone();
    use("at last", 1);
    closefrom(3); /* the device, too */
    use("after closefrom", 1);
    fill(files);
    use("after closefrom", 1);
    check("after closefrom", files, 0);
    return 0;
}
