/* A service that takes connect requests when it is told to, and what somebody who means harm does to what services share.
 * Built twice: with -DLIBRARY it is a librdmacm that has a connect request whenever it is asked, without it:
 *
 *   strangers                  each line of standard input takes a request, which lives on; prints "allowed" or "refused"
 *   strangers lock FILE...     holds all locks on the files that can be had, prints "locked", and waits
 *   strangers cut FILE...      cuts each file that can be cut; prints how many were
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#ifdef LIBRARY
static struct rdma_event_channel channel;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	channel.fd = -1;
	return &channel;
}

/* One request, then none. */
int rdma_get_cm_event(struct rdma_event_channel *from, struct rdma_cm_event **event)
{
	static int taken;
	struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001)};
	struct rdma_cm_id *id;

	if (taken++ % 2) {
		errno = EAGAIN;
		return -1;
	}
	id = calloc(1, sizeof *id);
	*event = calloc(1, sizeof **event);
	id->channel = from;
	memcpy(&id->route.addr.dst_addr, &peer, sizeof peer);
	(*event)->id = (*event)->listen_id = id;
	(*event)->event = RDMA_CM_EVENT_CONNECT_REQUEST;
	return 0;
}

int rdma_reject(struct rdma_cm_id *of, const void *data, uint8_t length) { return !of || !data || !length; }
int rdma_ack_cm_event(struct rdma_cm_event *event) { return !event; }
int rdma_destroy_id(struct rdma_cm_id *of) { return !of; }
#else
static int cut(char **names)
{
	int number = 0;

	for (; *names; names++)
		number += truncate(*names, 0) == 0;
	return printf("%d\n", number) < 0;
}

static int lock(char **names)
{
	for (; *names; names++) {
		int fd = open(*names, O_RDWR), reading = open(*names, O_RDONLY);

		for (int byte = 0; byte < 1024; byte++) {
			struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};

			if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &whole) == 0)
				continue;
			whole.l_type = F_RDLCK;
			if (reading >= 0)
				fcntl(reading, F_OFD_SETLK, &whole);
		}
		if (reading >= 0)
			flock(reading, LOCK_EX | LOCK_NB);
	}
	puts("locked");
	fflush(stdout);
	return pause();
}

static int serve(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	char line[64];

	while (fgets(line, sizeof line, stdin)) {
		int got = !rdma_get_cm_event(channel, &event);

		/* Where it was refused, the library has asked for the next one. */
		if (got && rdma_get_cm_event(channel, &event) == 0)
			return 1;
		puts(got ? "allowed" : "refused");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "lock"))
		return lock(argv + 2);
	if (argc > 1 && !strcmp(argv[1], "cut"))
		return cut(argv + 2);
	return serve();
}
#endif
