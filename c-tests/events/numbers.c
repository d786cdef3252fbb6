/* parts: bad-dup2 taken forked child ranges    Numbers of descriptors: a dup2 onto a channel that fails; files put at many
 * numbers that are free for the program; a vfork child that duplicates the channel; closefrom on a kernel without close_range. */
#include "events.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { FIRST = 500, LAST = 700 }; /* half of the usual limit is 512 */

static void works(const char *when, struct rdma_event_channel *ch)
{
    struct rdma_cm_id *ids[3];
    for (int i = 0; i < 3; i++) ids[i] = resolving(ch, i);
    settle();
    for (int i = 0; i < 3; i++) {
        int before = readable(ch->fd);
        say("%s: readable %d, took %ld", when, before, take(ch));
    }
    say("%s: readable %d", when, readable(ch->fd));
    for (int i = 0; i < 3; i++) rdma_destroy_id(ids[i]);
}

static void bad_dup2(struct rdma_event_channel *ch)
{
    TRY(dup2(-1, ch->fd));
    TRY(dup2(1000, ch->fd));
    TRY(dup3(1, ch->fd, 1));
    TRY(dup3(ch->fd, ch->fd, 0));
    works("after dup2 that failed", ch);
}

/* A file at many numbers that the program did not open: what is beneath the channel lives on, the file stays empty. */
static void taken(struct rdma_event_channel *ch)
{
    char name[] = "/dev/shm/events-numbers-XXXXXX";
    struct rdma_cm_id *ids[3];
    int file = mkstemp(name), put = 0, wrong = 0;
    MUST(file >= 0 && !unlink(name));
    for (int i = 0; i < 3; i++) ids[i] = resolving(ch, i);
    settle();
    say("took %ld", take(ch)); /* two are left, perhaps read ahead */
    for (int fd = FIRST; fd < LAST; fd++) {
        if (dup2(file, fd) == fd) put++;
        else wrong++;
    }
    say("numbers taken %d, not %d", put == LAST - FIRST, wrong);
    for (int i = 1; i < 3; i++) {
        int before = readable(ch->fd);
        say("readable %d, took %ld", before, take(ch));
    }
    say("readable %d, took %ld", readable(ch->fd), take(ch));
    for (int i = 0; i < 3; i++) rdma_destroy_id(ids[i]);
    say("bytes in the file: %ld", (long)lseek(file, 0, SEEK_END));
    wrong = 0;
    for (int fd = FIRST; fd < LAST; fd++) wrong += close(fd) != 0;
    say("not closed: %d", wrong);
    close(file);
    works("when they are free again", ch);
}

/* In a forked child the kernel refuses the parent's channel, and no command goes to a file of the child. */
static void forked(struct rdma_event_channel *ch)
{
    struct rdma_cm_id *id;
    char name[] = "/dev/shm/events-numbers-XXXXXX";
    int file = mkstemp(name), status;
    MUST(file >= 0 && !unlink(name));
    pid_t pid = fork();
    if (!pid) {
        for (int fd = FIRST; fd < LAST; fd++)
            MUST(dup2(file, fd) == fd);
        TRY(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
        _exit(0);
    }
    MUST(waitpid(pid, &status, 0) == pid);
    say("bytes in the file: %ld", (long)lseek(file, 0, SEEK_END));
    close(file);
    works("after the child", ch);
}

static void child(struct rdma_event_channel *ch)
{
    int status, ends[2];
    MUST(!pipe(ends));
    pid_t pid = vfork();
    if (!pid) {
        dup2(ch->fd, 0);
        close(ch->fd);
        dup2(ends[1], ch->fd);
        _exit(write(ch->fd, "child", 5) != 5);
    }
    char got[8] = "";
    MUST(waitpid(pid, &status, 0) == pid && read(ends[0], got, 5) == 5);
    say("child %d, read %s", WEXITSTATUS(status), got);
    works("after the child", ch);
    close(ends[0]);
    close(ends[1]);
}

static void no_close_range(struct rdma_event_channel *ch)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = 4, .filter = code};
    int base = 800;
    for (int i = 0; i < 5; i++) MUST(dup2(1, base + i) == base + i);
    MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
    TRY(close_range(base + 3, base + 4, 0));
    closefrom(base);
    int left = 0;
    for (int i = 0; i < 5; i++) left += fcntl(base + i, F_GETFD) != -1;
    say("left open: %d", left);
    works("after closefrom", ch);
    closefrom(3);
    say("channel open: %d", fcntl(ch->fd, F_GETFD) != -1);
}

static void part(const char *name)
{
    struct rdma_event_channel *ch = new_channel(1);
    if (is(name, "bad-dup2")) bad_dup2(ch);
    if (is(name, "taken")) taken(ch);
    if (is(name, "forked")) forked(ch);
    if (is(name, "child")) child(ch);
    if (is(name, "ranges")) no_close_range(ch);
    else rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    return play_parts(argc, argv, part);
}
