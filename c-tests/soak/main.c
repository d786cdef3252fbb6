/* usage: soak FILE new SEED CONNECTIONS     makes the book
 *        soak FILE server|client N|ended|check
 *        soak WORLD left PID                the ids that the null kernel has of a process */
#include "soak.h"
#include "left.h"
#include <dirent.h>
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

int fds(void)
{
    int found = -3; /* "." and "..", and the one that reads the list */
    DIR *list = opendir("/proc/self/fd");
    MUST(list);
    while (readdir(list)) found++;
    closedir(list);
    return found;
}

void note_most(atomic_long *most, long value)
{
    long before = atomic_load(most);
    while (value > before && !atomic_compare_exchange_weak(most, &before, value)) { }
}

/* Queue pairs are of two kinds, so that the pool has work: on queues of the process, and on those that librdmacm makes. */
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static char buffer[4096];

void make_qp(struct rdma_cm_id *id)
{
    static unsigned number;
    if (!pd) {
        MUST((pd = ibv_alloc_pd(id->verbs)) && (cq = ibv_create_cq(id->verbs, 256, NULL, NULL, 0)));
        MUST((mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE)));
    }
    struct ibv_qp_init_attr attr = {.send_cq = cq, .recv_cq = cq, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    if (number++ % 4 == 0) attr.send_cq = attr.recv_cq = NULL;
    if (rdma_create_qp(id, pd, &attr)) id->qp = NULL;
}

void free_qps(void)
{
    if (!pd) return;
    MUST(!ibv_dereg_mr(mr) && !ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd));
    pd = NULL;
}

int own_objects(void) { return pd != NULL; }

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
    if (!strcmp(what, "left") && argc == 4) return ids_left_in(argv[1], atoi(argv[3]));
    open_book(argv[1], 0, 0);
    if (!strcmp(what, "server")) return run_server();
    if (!strcmp(what, "client") && argc == 4) return run_client(atoi(argv[3]) % CLIENTS);
    if (!strcmp(what, "check")) return check();
    if (!strcmp(what, "ended")) { /* prints the server's process and how many ids it has */
        atomic_store(&book->ended, 1);
        for (int left = 3000; left && !atomic_load(&book->quiet) && server_lives(); left--) usleep(10000);
        if (!server_lives()) return 1;
        say("%d %u", atomic_load(&book->server_pid), atomic_load(&book->server_ids));
        return 0;
    }
    return 2;
}
