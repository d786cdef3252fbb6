/* A connect request, and what becomes of it where the preload library broke. Built twice: with -DLIBRARY it is a librdmacm that has
 * one connect request, without it a program that takes events until there are none. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>

#ifdef LIBRARY
static struct rdma_event_channel channel;
static struct rdma_cm_id id = {.channel = &channel};
static struct rdma_cm_event request = {.id = &id, .listen_id = &id, .event = RDMA_CM_EVENT_CONNECT_REQUEST};
static int taken;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	channel.fd = -1;
	return &channel;
}

int rdma_get_cm_event(struct rdma_event_channel *from, struct rdma_cm_event **event)
{
	(void)from;
	*event = &request;
	errno = EAGAIN;
	return taken++ ? -1 : 0;
}

int rdma_reject(struct rdma_cm_id *of, const void *data, uint8_t length)
{
	const unsigned char *reason = data;

	return printf("rejected: %d, reason %d\n", of == &id, length > 5 ? reason[5] : -1) < 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event) { return printf("acked: %d\n", event == &request) < 0; }
int rdma_destroy_id(struct rdma_cm_id *of) { return printf("destroyed: %d\n", of == &id) < 0; }
#else
int main(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(channel, &event))
		printf("the program sees event %d\n", event->event);
	return errno != EAGAIN;
}
#endif
