/* parts: block nonblock, each with -stale, too    Join and leave: with the event unread, taken, and taken but acked late by another
 * thread. Stale: the channel is closed with the id on it, whose number in the kernel is the next id's. */
#include "events.h"

static struct rdma_event_channel *ch;
static struct rdma_cm_id *id;

static void join(const char *group)
{
    struct sockaddr_in sa = cm_addr(group, 0);
    MUST(!rdma_join_multicast(id, (struct sockaddr *)&sa, (void *)group));
}

static int leave(const char *group)
{
    struct sockaddr_in sa = cm_addr(group, 0);
    return rdma_leave_multicast(id, (struct sockaddr *)&sa);
}

static struct rdma_cm_event *next(void)
{
    struct rdma_cm_event *ev;
    MUST(cm_ready(ch, SOON) && !rdma_get_cm_event(ch, &ev));
    say("%s %d for %s", rdma_event_str(ev->event), ev->status, (const char *)ev->param.ud.private_data);
    return ev;
}

static void *ack_late(void *event)
{
    let_pass(100);
    say("acking");
    rdma_ack_cm_event(event);
    return NULL;
}

static void stale(int nonblock)
{
    pthread_t thread;
    join("239.1.2.1");
    usleep(50000);
    join("239.1.2.2");
    usleep(50000);
    rdma_ack_cm_event(next());
    TRY(leave("239.1.2.2"));
    rdma_destroy_qp(id);
    rdma_destroy_event_channel(ch);
    ch = new_channel(nonblock);
    id = resolving(ch, 0);
    struct rdma_cm_event *ev;
    MUST(cm_ready(ch, SOON) && !rdma_get_cm_event(ch, &ev));
    pthread_create(&thread, NULL, ack_late, ev);
    TRY(rdma_destroy_id(id));
    pthread_join(thread, NULL);
    rdma_destroy_event_channel(ch);
}

static void part(const char *name)
{
    struct sockaddr_in here = cm_addr(lab_addr(), 0);
    struct ibv_qp_init_attr attr = {.cap = {8, 8, 1, 1, 0}, .qp_type = IBV_QPT_UD};
    pthread_t thread;
    ch = new_channel(is(name, "nonblock"));
    MUST(!rdma_create_id(ch, &id, NULL, RDMA_PS_UDP) && !rdma_bind_addr(id, (struct sockaddr *)&here));
    MUST(!rdma_create_qp(id, NULL, &attr));
    if (is(name, "stale")) return stale(is(name, "nonblock"));
    join("239.1.1.1");
    rdma_ack_cm_event(next());
    TRY(leave("239.1.1.1"));
    for (int i = 0; i < 2; i++) { /* the first one's event is never read */
        join("239.1.1.2");
        join("239.1.1.3");
        let_pass(50);
        say("readable %d", readable(ch->fd));
        if (i) {
            join("239.1.1.4");
            let_pass(50);
            rdma_ack_cm_event(next()); /* the others may have been read ahead */
        }
        TRY(leave(i ? "239.1.1.3" : "239.1.1.2"));
        rdma_ack_cm_event(next());
        say("readable %d", readable(ch->fd));
        TRY(leave(i ? "239.1.1.2" : "239.1.1.3"));
        if (i) TRY(leave("239.1.1.4"));
    }
    join("239.1.1.5");
    pthread_create(&thread, NULL, ack_late, next());
    TRY(leave("239.1.1.5"));
    pthread_join(thread, NULL);
    TRY(leave("239.1.1.5"));
    join("239.1.1.6");
    let_pass(50);
    cm_drop_id(id); /* a member still, with its event unread */
    say("readable %d", readable(ch->fd));
    rdma_destroy_event_channel(ch);
}

int main(int argc, char **argv)
{
    int status = play_parts(argc, argv, part);
    say("kernel ids %d", kernel_ids());
    return status;
}
