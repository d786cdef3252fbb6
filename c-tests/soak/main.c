/* usage: soak FILE new SEED CONNECTIONS     makes the book
 *        soak FILE server|client N|ended|check
 *        soak WORLD left PID                what the null kernel has of a process, but listeners */
#include "soak.h"
#include <sys/mman.h>
#include <sys/stat.h>

struct book *book;
int book_file;

struct page *page_of(unsigned client, unsigned number)
{
    return client < CLIENTS && number < book->each ? &book->pages[client * book->each + number] : NULL;
}

uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

long rss_of(pid_t pid)
{
    char path[64];
    long size = 0, rss = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%ld %ld", &size, &rss) != 2) rss = 0;
    fclose(f);
    return rss * (sysconf(_SC_PAGESIZE) / 1024);
}

int fds_of(pid_t pid)
{
    char path[64];
    struct stat s;
    int found = 0;
    for (int fd = 0; fd < 1024; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
        found += lstat(path, &s) == 0;
    }
    return found;
}

void note_most(atomic_long *most, long value)
{
    long before = atomic_load(most);
    while (value > before && !atomic_compare_exchange_weak(most, &before, value)) { }
}

/* Queue pairs are all alike, so that the pool has work. */
static struct ibv_pd *pd;
static struct ibv_cq *cq;

void make_qp(struct rdma_cm_id *id)
{
    if (!pd) MUST((pd = ibv_alloc_pd(id->verbs)) && (cq = ibv_create_cq(id->verbs, 256, NULL, NULL, 0)));
    struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    if (rdma_create_qp(id, pd, &attr)) id->qp = NULL;
}

void free_qps(void)
{
    if (cq) MUST(!ibv_destroy_cq(cq));
    if (pd) MUST(!ibv_dealloc_pd(pd));
}

static void open_book(const char *path, uint64_t seed, unsigned connections)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | (connections ? O_CREAT | O_TRUNC : 0), 0600);
    struct stat s;
    MUST(fd >= 0);
    if (connections) MUST(!ftruncate(fd, sizeof *book + (connections + CLIENTS) * sizeof(struct page)));
    MUST(!fstat(fd, &s));
    book = mmap(NULL, s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MUST(book != MAP_FAILED);
    book_file = fd; /* open for the lock of supervise.c */
    if (connections) {
        book->seed = seed;
        book->each = (connections + CLIENTS - 1) / CLIENTS;
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    if (!strcmp(what, "new") && argc == 5) {
        open_book(argv[1], strtoull(argv[3], NULL, 10), atoi(argv[4]));
        return 0;
    }
    if (argc < 3) return 2;
    if (!strcmp(what, "left") && argc == 4) return left_in(argv[1], atoi(argv[3]));
    open_book(argv[1], 0, 0);
    if (!strcmp(what, "server")) return run_server();
    if (!strcmp(what, "client") && argc == 4) return run_client(atoi(argv[3]) % CLIENTS);
    if (!strcmp(what, "check")) return check();
    if (!strcmp(what, "ended")) { /* prints the server's process and how many ids it has */
        atomic_store(&book->ended, 1);
        for (int left = 3000; left && !atomic_load(&book->settled) && server_lives(); left--) usleep(10000);
        if (!server_lives()) return 1;
        say("%d %u", atomic_load(&book->server_pid), atomic_load(&book->server_ids));
        return 0;
    }
    return 2;
}
