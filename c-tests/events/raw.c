/* The program speaks to the kernel itself, with no librdmacm between: on a descriptor of its own, and on a channel's. */
#include "events.h"

/* As in rdma/rdma_user_cm.h, which cannot be included beside rdma_cma.h. */
enum { CREATE_ID = 0, DESTROY_ID = 1, GET_EVENT = 12, RESOLVE_ADDR = 21, EVENT_SIZE = 336 };
struct header { uint32_t cmd; uint16_t in, out; };
struct create_id { uint64_t uid, response; uint16_t ps; uint8_t qp_type, reserved[5]; };
struct destroy_id { uint64_t response; uint32_t id, reserved; };
struct resolve_addr {
    uint32_t id, timeout_ms;
    uint16_t src_size, dst_size;
    uint32_t reserved;
    struct sockaddr_storage src, dst;
};
struct event { uint64_t uid; uint32_t id, event, status; uint8_t rest[EVENT_SIZE - 20]; };

static ssize_t command(int fd, unsigned number, void *whole, size_t size, unsigned out)
{
    *(struct header *)whole = (struct header){number, size - sizeof(struct header), out};
    return write(fd, whole, size);
}

static ssize_t get_event(int fd, struct event *answer)
{
    struct { struct header header; uint64_t response; } c = {.response = (uintptr_t)answer};
    memset(answer, 0, sizeof *answer);
    errno = 0;
    return command(fd, GET_EVENT, &c, sizeof c, sizeof *answer);
}

static void create(int fd, unsigned *id)
{
    uint32_t answer = 0;
    struct { struct header header; struct create_id body; } c =
        {.body = {.uid = 77, .response = (uintptr_t)&answer, .ps = RDMA_PS_TCP, .qp_type = IBV_QPT_RC}};
    TRY(command(fd, CREATE_ID, &c, sizeof c, sizeof answer));
    *id = answer;
}

static void resolve_raw(int fd, unsigned id)
{
    struct sockaddr_in here = cm_addr(lab_addr(), lab_port());
    struct { struct header header; struct resolve_addr body; } c =
        {.body = {.id = id, .timeout_ms = 2000, .dst_size = sizeof here}};
    memcpy(&c.body.dst, &here, sizeof here);
    TRY(command(fd, RESOLVE_ADDR, &c, sizeof c, 0));
}

static void destroy(int fd, unsigned id)
{
    uint32_t answer = 0;
    struct { struct header header; struct destroy_id body; } c =
        {.body = {.response = (uintptr_t)&answer, .id = id}};
    TRY(command(fd, DESTROY_ID, &c, sizeof c, sizeof answer));
    say("events reported: %u", answer);
}

static void round_of(const char *who, int fd)
{
    struct event answer;
    unsigned id;
    say("%s:", who);
    ssize_t n = get_event(fd, &answer);
    say("nothing there: %zd, errno %s", n, errno_name(errno));
    create(fd, &id);
    for (int unread = 0; unread < 2; unread++) {
        if (unread) create(fd, &id);
        resolve_raw(fd, id);
        settle();
        say("readable %d", readable(fd));
        if (!unread) {
            n = get_event(fd, &answer);
            say("event: %zd, %s %d, uid %d, its id: %d", n, rdma_event_str(answer.event), answer.status, (int)answer.uid, answer.id == id);
        }
        destroy(fd, id);
    }
    n = get_event(fd, &answer);
    say("nothing there: %zd, errno %s", n, errno_name(errno));
}

int main(void)
{
    int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_NONBLOCK);
    MUST(fd >= 0);
    round_of("own descriptor", fd);
    close(fd);
    struct rdma_event_channel *ch = new_channel(1);
    round_of("a channel's", ch->fd);
    rdma_destroy_event_channel(ch);
    return 0;
}
