/* Who restarts others sees when one of them hangs, and clients see when nobody restarts the server any more. */
#include "soak.h"

/* The server's supervisor has a lock on the book as long as it lives, however it ends. */
void hold_book(void)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    MUST(!fcntl(book_file, F_SETLK, &all));
}

int server_lives(void)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(book_file, F_GETLK, &all) || all.l_type != F_UNLCK;
}

int hangs(struct watch *w, atomic_uint *turns)
{
    unsigned made = atomic_load(turns);
    if (!w->since || made != w->seen) *w = (struct watch){made, now()};
    return now() - w->since > within(20000) / 1000;
}

/* The status of a child that has ended, or -1 of one that hung: it is killed, since it may hang with all signals blocked. */
int end_of(pid_t child, atomic_uint *turns)
{
    struct watch watch = {0};
    int status;
    while (waitpid(child, &status, WNOHANG) != child) {
        if (hangs(&watch, turns)) {
            kill(child, SIGKILL);
            while (waitpid(child, &status, 0) < 0 && errno == EINTR) { }
            return -1;
        }
        usleep(5000);
    }
    return status;
}
