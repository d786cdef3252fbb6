/* What waits in a channel. */
#include "null.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Any number of this process that leads to the channel. System calls without libc: no cancellation point with the lock held. */
static int number_of(struct channel *c)
{
    if (channel_of(c->fd) == c) return c->fd;
    for (int fd = 0; fd < 65536; fd++)
        if (channel_of(fd) == c) return c->fd = fd;
    return -1;
}

/* By name, since the channel may be another process's. The kernel holds only some bytes of strangers: one is enough. */
void wake(struct channel *c)
{
    int own = calling < 0 ? syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : calling;
    syscall(SYS_sendto, own, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL, &c->name, c->name_size);
    if (own != calling) syscall(SYS_close, own);
}

/* As long as there are events, there is a byte. None is sent here: ucma wakes for an event that comes, not for one that is taken. */
static void take_bytes(struct channel *c)
{
    char byte;
    int fd = number_of(c);
    if (!c->count)
        while (syscall(SYS_recvfrom, fd, &byte, 1, MSG_DONTWAIT, NULL, NULL) == 1) { }
}

static int put(struct channel *c, const struct event *event)
{
    if (c->count == EVENTS) return -ENOMEM;
    c->queue[c->count++] = *event;
    wake(c);
    return 0;
}

static void take_out(struct channel *c, int at)
{
    memmove(&c->queue[at], &c->queue[at + 1], (--c->count - at) * sizeof c->queue[0]);
    take_bytes(c);
}

int post(int owner, uint32_t kind, int status, const struct ucma_abi_conn_param *conn, int client)
{
    struct id *id = &world->ids[owner];
    struct event event = {.uid = id->uid, .owner = owner, .client = client, .kind = kind, .status = status};
    if (conn) event.conn = *conn;
    if (client != NOBODY) event.from = world->ids[client].src;
    return id->uid ? put(id->file, &event) : 0; /* a request that was not answered yet hears of nothing */
}

int take(struct channel *from, struct event *to)
{
    if (!from->count) return -EAGAIN;
    *to = from->queue[0];
    take_out(from, 0);
    world->ids[to->owner].reported++;
    return 0;
}

void discard(struct channel *from, int owner)
{
    for (int i = 0; i < from->count;)
        if (from->queue[i].owner == owner) take_out(from, i);
        else i++;
}

void move(struct channel *from, struct channel *to, int owner)
{
    for (int i = 0, left = from->count; left > 0; left--)
        if (from->queue[i].owner == owner) {
            put(to, &from->queue[i]);
            take_out(from, i);
        } else {
            i++;
        }
}

/* Its request stays where it waits, and leads nowhere. */
void gone_client(int client)
{
    for (int i = 0; i < IDS; i++)
        if (world->ids[i].used && world->ids[i].state == LISTENS)
            for (int at = 0; at < world->ids[i].file->count; at++)
                if (world->ids[i].file->queue[at].client == client) world->ids[i].file->queue[at].client = NOBODY;
}
