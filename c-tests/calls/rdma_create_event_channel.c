/* covers: rdma_create_event_channel rdma_destroy_event_channel */
#include "cm.h"
#include <fcntl.h>
#include <sys/resource.h>

int main(void)
{
    struct rdma_event_channel *first = TRY_PTR(rdma_create_event_channel());
    struct rdma_event_channel *second = TRY_PTR(rdma_create_event_channel());
    MUST(first && second);
    int fd = second->fd;
    say("two descriptors: %d", first->fd != second->fd);
    rdma_destroy_event_channel(second);
    say("closed after destroy: %d", fcntl(fd, F_GETFD) == -1);
    rdma_destroy_event_channel(first);
    /* No descriptor left. */
    struct rlimit none = {0, 0};
    MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
    TRY_PTR(rdma_create_event_channel());
    return 0;
}
