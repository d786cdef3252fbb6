/* Helpers for the tests of access checks: addresses of both families, the reason in a reject, traffic classes. */
#ifndef TENANT_TEST_H
#define TENANT_TEST_H
#include "cm.h"
#include <fcntl.h>
#include <netdb.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

/* From text, with scope where there is one. */
HELPER struct sockaddr_storage any_addr(const char *text, int port)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *found;
    struct sockaddr_storage sa = {0};
    char number[16];
    snprintf(number, sizeof number, "%d", port);
    if (getaddrinfo(text, number, &hints, &found)) {
        say("no address: %s", text);
        _exit(96);
    }
    memcpy(&sa, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return sa;
}

HELPER const char *option(char **argv, const char *name, const char *otherwise)
{
    size_t n = strlen(name);
    for (; *argv; argv++)
        if (!strncmp(*argv, name, n) && (*argv)[n] == '=') return *argv + n + 1;
    return otherwise;
}

HELPER long now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

/* The reason that a refusal carries, as it stands in the private data. */
struct reason {
    int code; /* 0: none of ours */
    unsigned retry_ms, used, limit;
    char tenant[80];
};

HELPER unsigned big_endian(const unsigned char *at, int bytes)
{
    unsigned value = 0;
    while (bytes--) value = value << 8 | *at++;
    return value;
}

HELPER struct reason reason_of(const void *data, int length)
{
    const unsigned char *bytes = data;
    struct reason r = {0};
    if (!bytes || length < 21 || memcmp(bytes, "CMSR", 4) || bytes[4] != 1) return r;
    unsigned all = big_endian(bytes + 6, 2), name = bytes[20];
    if ((int)all > length || 21 + name > all || name >= sizeof r.tenant) return r;
    r = (struct reason){bytes[5], big_endian(bytes + 8, 4), big_endian(bytes + 12, 4), big_endian(bytes + 16, 4), ""};
    memcpy(r.tenant, bytes + 21, name);
    return r;
}

HELPER const char *reason_name(int code)
{
    static const char *names[] = {"not ours", "no-tenant", "denied", "over-limit", "rate", "unreadable", "program", "uncounted"};
    return code >= 0 && code < 8 ? names[code] : "unknown";
}

HELPER void hex(const void *data, int length, char *text)
{
    const unsigned char *bytes = data;
    for (int i = 0; i < length; i++) sprintf(text + 2 * i, "%02x", bytes[i]);
    text[length > 0 ? 2 * length : 0] = 0;
}

/* Brings a queue pair of the program's own to a state with what librdmacm says for it. */
HELPER int own_step(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask;
    return rdma_init_qp_attr(id, &attr, &mask) || ibv_modify_qp(qp, &attr, mask);
}

HELPER struct ibv_qp *own_qp(struct rdma_cm_id *id)
{
    struct ibv_cq *cq = ibv_create_cq(id->verbs, 8, NULL, NULL, 0);
    struct ibv_pd *pd = ibv_alloc_pd(id->verbs);
    struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = cq && pd ? ibv_create_qp(pd, &attr) : NULL;
    MUST(qp && !own_step(id, qp, IBV_QPS_INIT));
    return qp;
}

HELPER void own_gone(struct ibv_qp *qp)
{
    struct ibv_cq *cq = qp->send_cq;
    struct ibv_pd *pd = qp->pd;
    MUST(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd));
}

/* The traffic class with which this queue pair sends. */
HELPER int class_of(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    return ibv_query_qp(qp, &attr, IBV_QP_AV, &init) ? -1 : attr.ah_attr.grh.traffic_class;
}
#endif
