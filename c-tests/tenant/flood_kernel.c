/* A preload beneath the shim: as soon as an id listens, its channel never runs out of connect requests. They are of ids
 * that the kernel does not know, whose commands are answered here. FLOOD in the environment: how many there are (0: no end). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <rdma/rdma_cma_abi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FIRST = 900000, LAST = 999999, HANDLES = 1 << 16 };
static uint64_t uids[HANDLES], listener;
static unsigned long sent;

static ssize_t real_write(int fd, const void *buffer, size_t size)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (!real && !(real = dlsym(RTLD_NEXT, "write"))) abort();
    return real(fd, buffer, size);
}

static int ours(uint32_t id) { return id >= FIRST && id <= LAST; }

static ssize_t get_event(const struct ucma_abi_get_event *command, ssize_t size)
{
    const char *most = getenv("FLOOD");
    unsigned long number = __atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED);
    if (most && atol(most) && number >= strtoul(most, NULL, 10)) {
        errno = EAGAIN;
        return -1;
    }
    struct ucma_abi_event_resp *answer = (void *)(uintptr_t)command->response;
    memset(answer, 0, command->out < sizeof *answer ? command->out : sizeof *answer);
    answer->uid = listener;
    answer->id = FIRST + number % (LAST - FIRST);
    answer->event = 4; /* RDMA_CM_EVENT_CONNECT_REQUEST */
    return size;
}

static ssize_t query(const struct ucma_abi_query *command, ssize_t size)
{
    memset((void *)(uintptr_t)command->response, 0, command->out);
    if (command->option == UCMA_QUERY_ADDR) {
        struct ucma_abi_query_addr_resp *answer = (void *)(uintptr_t)command->response;
        struct sockaddr_in *src = (void *)&answer->src_addr, *dst = (void *)&answer->dst_addr;
        src->sin_family = dst->sin_family = AF_INET;
        answer->src_size = answer->dst_size = sizeof *src;
        src->sin_addr.s_addr = htonl(0x0a4d0001);
        dst->sin_addr.s_addr = htonl(0x0a4d0063);
    }
    return size;
}

ssize_t write(int fd, const void *buffer, size_t size)
{
    const struct ucma_abi_cmd_hdr *header = buffer;
    if (size < sizeof *header || size != sizeof *header + header->in) return real_write(fd, buffer, size);
    ssize_t written;
    switch (header->cmd) {
    case UCMA_CMD_CREATE_ID: {
        const struct ucma_abi_create_id *command = buffer;
        written = real_write(fd, buffer, size);
        uint32_t id = written > 0 ? ((struct ucma_abi_create_id_resp *)(uintptr_t)command->response)->id : HANDLES;
        if (id < HANDLES) uids[id] = command->uid;
        return written;
    }
    case UCMA_CMD_LISTEN: {
        const struct ucma_abi_listen *command = buffer;
        written = real_write(fd, buffer, size);
        if (written > 0 && command->id < HANDLES) __atomic_store_n(&listener, uids[command->id], __ATOMIC_RELEASE);
        return written;
    }
    case UCMA_CMD_GET_EVENT:
        written = real_write(fd, buffer, size);
        if (written > 0 || errno != EAGAIN || !__atomic_load_n(&listener, __ATOMIC_ACQUIRE)) return written;
        return get_event(buffer, size);
    case UCMA_CMD_QUERY:
        if (ours(((const struct ucma_abi_query *)buffer)->id)) return query(buffer, size);
        break;
    case UCMA_CMD_REJECT:
        if (ours(((const struct ucma_abi_reject *)buffer)->id)) return size;
        break;
    case UCMA_CMD_DESTROY_ID: {
        const struct ucma_abi_destroy_id *command = buffer;
        if (!ours(command->id)) break;
        /* In rdma_get_cm_event the event was taken for the new id, and is acked before this. */
        ((struct ucma_abi_destroy_id_resp *)(uintptr_t)command->response)->events_reported = 0;
        return size;
    }
    default:
        break;
    }
    return real_write(fd, buffer, size);
}

ssize_t writev(int fd, const struct iovec *segments, int count)
{
    ssize_t sum = 0, one;
    for (int i = 0; i < count; i++, sum += one)
        if ((one = write(fd, segments[i].iov_base, segments[i].iov_len)) < 0) return sum ? sum : -1;
    return sum;
}
