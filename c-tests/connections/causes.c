/* Calls that fail, each for one cause and beside it for the nearest other one with the same errno: the line of each must
 * name its own cause, or say that it does not know. One failed call for each name; the test compares line by line.
 * usage: causes answer|request|address|route|namespace|low|stranger|endpoint|files */
#include "cm.h"
#include <sched.h>
#include <fcntl.h>
#include <sys/resource.h>

enum { FREE_PORT = 5, FEW = 20000 };
static struct rdma_event_channel *channel;

static struct rdma_cm_id *fresh(enum rdma_port_space ps)
{
    struct rdma_cm_id *id;
    MUST(rdma_create_id(channel, &id, NULL, ps) == 0);
    return id;
}

static void *v4(const char *ip, int port)
{
    static struct sockaddr_in all[4];
    static int next;
    struct sockaddr_in *sa = &all[next++ % 4];
    *sa = cm_addr(ip, port);
    return sa;
}

static void *v6(const char *ip, int port)
{
    static struct sockaddr_in6 sa;
    sa = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    MUST(inet_pton(AF_INET6, ip, &sa.sin6_addr) == 1);
    return &sa;
}

/* The call that fails, under the name of its cause. */
#define CAUSE(name, call) do { errno = UNTOUCHED; int r_ = (call); say("%s: %d, errno %s", name, r_, errno_name(errno)); } while (0)

static struct rdma_conn_param with(int responder, int depth)
{
    return (struct rdma_conn_param){.responder_resources = responder, .initiator_depth = depth};
}

/* rdma_accept and rdma_reject, all EINVAL. */
static void answers(void)
{
    static char data[200] = "x";
    struct rdma_conn_param reads = with(200, 1), depth = with(1, 200), fit = with(1, 1), long_data = with(1, 1);
    long_data.private_data = data, long_data.private_data_len = sizeof data;
    struct cm_pair p = cm_request();
    CAUSE("accept: too many reads served", rdma_accept(p.server, &reads));
    CAUSE("accept: too many reads asked for", rdma_accept(p.server, &depth));
    CAUSE("accept: the id of the listener", rdma_accept(p.listener, &fit));
    CAUSE("accept: a client's id", rdma_accept(p.client, &fit));
    MUST(rdma_accept(p.server, &fit) == 0);
    CAUSE("accept: once more", rdma_accept(p.server, &fit));
    cm_close(&p);
    p = cm_request();
    CAUSE("accept: too much private data", rdma_accept(p.server, &long_data));
    CAUSE("reject: after a failed accept", rdma_reject(p.server, NULL, 0));
    cm_close(&p);
    p = cm_request();
    MUST(rdma_reject(p.server, NULL, 0) == 0);
    CAUSE("reject: once more", rdma_reject(p.server, NULL, 0));
    CAUSE("accept: after the reject", rdma_accept(p.server, &fit));
    CAUSE("reject: the id of the listener", rdma_reject(p.listener, NULL, 0));
    cm_close(&p);
    for (int reject = 0; reject < 2; reject++) {
        p = cm_request();
        cm_drop_id(p.client);
        p.client = NULL;
        usleep(within(300) * 1000);
        if (reject) CAUSE("reject: the client has gone", rdma_reject(p.server, NULL, 0));
        else CAUSE("accept: the client has gone", rdma_accept(p.server, &fit));
        cm_close(&p);
    }
}

/* rdma_connect, rdma_create_qp, rdma_establish and rdma_join_multicast, all EINVAL. */
static void requests(void)
{
    static char data[57] = "x";
    struct rdma_conn_param reads = with(200, 1), fit = with(1, 1), long_data = with(1, 1);
    long_data.private_data = data, long_data.private_data_len = sizeof data;
    struct ibv_qp_init_attr big = {.cap = {8, 8, 10000, 1, 0}, .qp_type = IBV_QPT_RC};
    struct rdma_cm_id *routed = cm_routed(channel, RDMA_PS_TCP), *addressed = fresh(RDMA_PS_TCP);
    struct rdma_cm_id *bound = fresh(RDMA_PS_TCP), *datagram = fresh(RDMA_PS_UDP);
    CAUSE("create_qp: more than the device has", rdma_create_qp(routed, NULL, &big));
    MUST(cm_qp(routed) == 0);
    CAUSE("create_qp: a second one", cm_qp(routed));
    CAUSE("connect: too many reads", rdma_connect(routed, &reads));
    CAUSE("connect: too much private data", rdma_connect(routed, &long_data));
    CAUSE("establish: with a queue pair", rdma_establish(routed));
    MUST(rdma_resolve_addr(addressed, NULL, v4(lab_addr(), lab_port()), within(2000)) == 0);
    cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    CAUSE("connect: before the route", rdma_connect(addressed, &fit));
    CAUSE("establish: before the connect", rdma_establish(addressed));
    MUST(rdma_bind_addr(bound, v4(lab_addr(), 0)) == 0);
    CAUSE("join: a stream id", rdma_join_multicast(bound, v4("239.1.2.3", 0), NULL));
    CAUSE("join: a new id", rdma_join_multicast(datagram, v4("239.1.2.3", 0), NULL));
    cm_drop_id(routed), cm_drop_id(addressed), cm_drop_id(bound), cm_drop_id(datagram);
    struct cm_pair p = cm_request();
    CAUSE("connect: once more", rdma_connect(p.client, &fit));
    CAUSE("connect: a connect request", rdma_connect(p.server, &fit));
    cm_close(&p);
}

/* Each on an id of its own: what a failed call leaves behind changes what the next one finds. */
#define ON_FRESH(name, call) do { struct rdma_cm_id *id = fresh(RDMA_PS_TCP); CAUSE(name, call); cm_drop_id(id); } while (0)

/* rdma_bind_addr, rdma_listen and rdma_resolve_addr: EADDRINUSE, EADDRNOTAVAIL, EINVAL, ENODEV. */
static void addresses(void)
{
    struct rdma_cm_id *taken = cm_listen(channel, 8), *bound = fresh(RDMA_PS_TCP);
    struct sockaddr unix_address = {.sa_family = AF_UNIX};
    MUST(rdma_bind_addr(bound, v4(lab_addr(), 0)) == 0);
    ON_FRESH("bind: the same address and port", rdma_bind_addr(id, v4(lab_addr(), lab_port())));
    ON_FRESH("bind: the same port and the any-address", rdma_bind_addr(id, v4("0.0.0.0", lab_port())));
    ON_FRESH("bind: an address of nobody", rdma_bind_addr(id, v4("203.0.113.9", 0)));
    ON_FRESH("bind: IPv4 in IPv6 form", rdma_bind_addr(id, v6("::ffff:10.77.0.1", 0)));
    ON_FRESH("bind: an address of lo", rdma_bind_addr(id, v4("198.51.100.1", 0)));
    ON_FRESH("bind: link-local without scope", rdma_bind_addr(id, v6("fe80::1", 0)));
    ON_FRESH("bind: a unix address", rdma_bind_addr(id, &unix_address));
    CAUSE("bind: once more", rdma_bind_addr(bound, v4(lab_addr(), 0)));
    CAUSE("listen: once more", rdma_listen(taken, 8));
    ON_FRESH("resolve: a source that is taken", rdma_resolve_addr(id, v4(lab_addr(), lab_port()), v4(lab_addr(), 1), 100));
    ON_FRESH("resolve: a source of nobody", rdma_resolve_addr(id, v4("203.0.113.9", 0), v4(lab_addr(), 1), 100));
    ON_FRESH("resolve: two families", rdma_resolve_addr(id, v4(lab_addr(), 0), v6("2001:db8::1", 1), 100));
    ON_FRESH("resolve: a unix address", rdma_resolve_addr(id, NULL, &unix_address, 100));
    ON_FRESH("resolve: IPv4 in IPv6 form", rdma_resolve_addr(id, NULL, v6("::ffff:10.77.0.1", 1), 100));
    ON_FRESH("resolve: IPv6 without a route", rdma_resolve_addr(id, NULL, v6("2001:db8::1", 1), 100));
    cm_drop_id(bound), cm_drop_id(taken);
}

/* Routes: ENETUNREACH and EHOSTUNREACH; rdma_resolve_route: EINVAL. */
static void routes(void)
{
    struct rdma_cm_id *id = fresh(RDMA_PS_TCP), *other = fresh(RDMA_PS_TCP), *routed = cm_routed(channel, RDMA_PS_TCP);
    CAUSE("resolve: no route", rdma_resolve_addr(id, NULL, v4("203.0.113.7", 1), 100));
    CAUSE("resolve: a route that says unreachable", rdma_resolve_addr(other, NULL, v4("203.0.113.129", 1), 100));
    CAUSE("resolve: after the route", rdma_resolve_addr(routed, NULL, v4(lab_addr(), 1), 100));
    CAUSE("route: once more", rdma_resolve_route(routed, 100));
    cm_drop_id(routed);
    routed = fresh(RDMA_PS_TCP);
    MUST(rdma_resolve_addr(routed, NULL, v4(lab_addr(), lab_port()), within(2000)) == 0);
    cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    CAUSE("route: without time", rdma_resolve_route(routed, 0));
    CAUSE("listen: after the address", rdma_listen(routed, 8));
    cm_drop_id(id), cm_drop_id(other), cm_drop_id(routed);
}

/* EADDRNOTAVAIL in a network namespace with few ephemeral ports. */
static void few_ports(void)
{
    struct rdma_cm_id *ids[FREE_PORT];
    char range[32];
    MUST(unshare(CLONE_NEWNET) == 0);
    int fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY);
    int n = snprintf(range, sizeof range, "%d %d", FEW, FEW + FREE_PORT - 1);
    MUST(fd >= 0 && write(fd, range, n) == n);
    for (int i = 0; i < FREE_PORT; i++) {
        ids[i] = fresh(RDMA_PS_TCP);
        MUST(rdma_bind_addr(ids[i], v4("0.0.0.0", 0)) == 0);
    }
    struct rdma_cm_id *id = fresh(RDMA_PS_TCP);
    CAUSE("bind: no ephemeral port is left", rdma_bind_addr(id, v4("0.0.0.0", 0)));
    CAUSE("bind: a port that is taken", rdma_bind_addr(id, v4("0.0.0.0", FEW)));
    CAUSE("listen: no ephemeral port is left", rdma_listen(id, 8));
    CAUSE("resolve: no ephemeral port is left", rdma_resolve_addr(id, NULL, v4("10.1.2.3", 1), 100));
    for (int i = 0; i < FREE_PORT; i++) cm_drop_id(ids[i]);
    cm_drop_id(id);
}

/* rdma_create_ep: ENODEV, bound and resolved inside the call. */
static void endpoint_at(const char *name, const char *ip, int flags)
{
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_NUMERICHOST | flags}, *at;
    struct rdma_cm_id *id;
    MUST(rdma_getaddrinfo(ip, "7471", &hints, &at) == 0);
    CAUSE(name, rdma_create_ep(&id, at, NULL, NULL));
    rdma_freeaddrinfo(at);
}

static void endpoints(void)
{
    endpoint_at("endpoint: an address of lo", "198.51.100.1", RAI_PASSIVE);
    endpoint_at("endpoint: an address of nobody", "203.0.113.9", RAI_PASSIVE);
    endpoint_at("endpoint: a way that is no RDMA port's", "198.51.100.1", 0);
}

/* The first call of a process with one descriptor: a search for devices that can open nothing finds none. */
static void no_files(void)
{
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = RAI_NUMERICHOST}, *at;
    MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){4, 4}) == 0);
    CAUSE("getaddrinfo: no descriptor is left", rdma_getaddrinfo(lab_addr(), "7471", &hints, &at));
}

/* EACCES: started without the right to take low ports, or with another user than opened the channel. */
static void low_port(void)
{
    struct rdma_cm_id *id = fresh(RDMA_PS_TCP);
    CAUSE("bind: a low port", rdma_bind_addr(id, v4(lab_addr(), 80)));
    cm_drop_id(id);
}

static void stranger(void)
{
    struct rdma_cm_id *id = fresh(RDMA_PS_TCP);
    CAUSE("bind: a unix address", rdma_bind_addr(id, &(struct sockaddr){.sa_family = AF_UNIX}));
    MUST(seteuid(65534) == 0);
    CAUSE("bind: a channel of another user", rdma_bind_addr(id, v4(lab_addr(), 0)));
    MUST(seteuid(0) == 0);
    _exit(0); /* the credentials are new ones for ever: the id cannot be destroyed */
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*play)(void); } groups[] = {
        {"answer", answers}, {"request", requests}, {"address", addresses}, {"route", routes},
        {"namespace", few_ports}, {"low", low_port}, {"stranger", stranger}, {"endpoint", endpoints}};
    end_if_hung(120);
    if (argc > 1 && !strcmp(argv[1], "files")) {
        no_files();
        return 0;
    }
    MUST((channel = rdma_create_event_channel()));
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        if (argc > 1 && !strcmp(argv[1], groups[i].name)) groups[i].play();
    rdma_destroy_event_channel(channel);
    return 0;
}
