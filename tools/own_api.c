/* Calls our own API; the argument says whether the shim is to be in effect ("linked") or not ("behind").
 * Valid C99 and C++. Needs no RDMA device. */
#include <cmshim.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

static int failures;

static void must(int ok, const char *what)
{
	if (!ok) {
		printf("FAIL: %s\n", what);
		failures++;
	}
}

int main(int argc, char **argv)
{
	char text[1000], small[8], *none = NULL;
	size_t whole;
	int wanted = argc > 1 && !strcmp(argv[1], "linked");
	struct rdma_cm_event *event = NULL;
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (channel)
		rdma_destroy_event_channel(channel);
	must(strlen(cmshim_version()) >= 5, "cmshim_version is MAJOR.MINOR.PATCH");
	must(cmshim_active() == wanted, "cmshim_active says what is so");

	errno = 123;
	whole = cmshim_explain(RDMA_CM_EVENT_REJECTED, 8, CMSHIM_TRANSPORT_ROCE, text, sizeof(text));
	must(errno == 123, "cmshim_explain keeps errno");
	must(whole == strlen(text) && whole > 20, "the length is that of the text");
	must(strstr(text, "nobody listens") != NULL, "status 8 says that nobody listens");
	must(cmshim_explain(RDMA_CM_EVENT_REJECTED, 8, CMSHIM_TRANSPORT_ROCE, none, 0) == whole, "a NULL buffer gives the length");
	must(cmshim_explain(RDMA_CM_EVENT_REJECTED, 8, CMSHIM_TRANSPORT_ROCE, small, sizeof(small)) == whole, "so does a small one");
	must(strlen(small) < sizeof(small) && !strncmp(small, text, strlen(small)), "a small buffer gets the beginning and a NUL");
	must(cmshim_explain(RDMA_CM_EVENT_UNREACHABLE, -110, 99, text, sizeof(text)) > 20, "an unknown transport is no error");
	must(cmshim_explain(12345, 0, 0, text, sizeof(text)) > 10, "an unknown event is explained as such");

	errno = 0;
	must((cmshim_set_access_check(NULL, NULL) == 0) == wanted, "cmshim_set_access_check takes NULL where the shim is in effect");
	must(cmshim_pool_warm(NULL, NULL, 1) == -1 && errno == EINVAL, "cmshim_pool_warm refuses NULL");
	must(cmshim_get_cm_events(NULL, &event, 1, 0) == -1 && errno == EINVAL, "no channel is EINVAL");
	errno = 0;
	must(cmshim_get_async_events(NULL, NULL, 1, 0) == -1 && errno == EINVAL, "no context is EINVAL");
	return failures != 0;
}
