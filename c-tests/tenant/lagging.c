/* A preload beneath the shim: the commands that end a connection come back 0.3 s after the kernel has carried them out, so
 * that its peer is here again before. With DESTROYED_BEFORE in the environment, an id is destroyed just before the
 * program's command for that, as by another thread: the kernel does not have it any more (ENOENT). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const void *buffer, size_t size, unsigned cmd)
{
    struct rdma_ucm_cmd_hdr header;
    if (size < sizeof header) return 0;
    memcpy(&header, buffer, sizeof header);
    return size == sizeof header + header.in && header.cmd == cmd;
}

static int ends_a_connection(const void *buffer, size_t size)
{
    return is(buffer, size, RDMA_USER_CM_CMD_REJECT) || is(buffer, size, RDMA_USER_CM_CMD_DISCONNECT) ||
           is(buffer, size, RDMA_USER_CM_CMD_DESTROY_ID);
}

ssize_t write(int fd, const void *buffer, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    if (!real) abort();
    if (getenv("DESTROYED_BEFORE")) {
        if (is(buffer, size, RDMA_USER_CM_CMD_DESTROY_ID)) real(fd, buffer, size);
        return real(fd, buffer, size);
    }
    ssize_t written = real(fd, buffer, size);
    if (written > 0 && ends_a_connection(buffer, size)) usleep(300000);
    return written;
}
