/* A program with a write of its own, which no preload library sees: its channels stay as they are. */
#include "events.h"
#include <sys/syscall.h>

ssize_t write(int fd, const void *buffer, size_t size)
{
    return syscall(SYS_write, fd, buffer, size);
}

static void *later(void *id)
{
    usleep(100000);
    resolve(id);
    return NULL;
}

int main(void)
{
    struct rdma_cm_id *id;
    pthread_t thread;
    end_if_hung(40);
    for (int i = 0; i < 2; i++) {
        struct rdma_event_channel *ch = new_channel(0);
        say("O_NONBLOCK %d", (fcntl(ch->fd, F_GETFL) & O_NONBLOCK) != 0);
        MUST(!rdma_create_id(ch, &id, (void *)1L, RDMA_PS_TCP));
        pthread_create(&thread, NULL, later, id);
        say("waited for %ld", take(ch));
        pthread_join(thread, NULL);
        set_nonblock(ch->fd, 1);
        say("O_NONBLOCK %d, took %ld", (fcntl(ch->fd, F_GETFL) & O_NONBLOCK) != 0, take(ch));
        rdma_destroy_id(id);
        rdma_destroy_event_channel(ch);
    }
    return 0;
}
