/* What the null kernel has of a process. */
#include "../null-kernel/null.h"
#include "left.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

static void count(const struct world *w, pid_t pid, int has[KERNEL_HAS])
{
    static const int kinds[OBJECTS] = {[QPS] = HAS_QPS, [CQS] = HAS_CQS, [PDS] = HAS_PDS, [MRS] = HAS_MRS};
    for (int kind = 0; kind < KERNEL_HAS; kind++) has[kind] = 0;
    for (int i = 0; i < IDS; i++)
        if (w->ids[i].used && w->ids[i].file->process == pid) has[HAS_IDS]++;
    for (int i = 0; i < HOLDERS; i++)
        for (int kind = 0; w->holders[i].process == pid && kind < OBJECTS; kind++)
            has[kinds[kind]] = __atomic_load_n(&w->holders[i].held[kind], __ATOMIC_ACQUIRE);
}

int null_kernel_has(pid_t pid, int has[KERNEL_HAS])
{
    struct world **beneath = dlsym(RTLD_DEFAULT, "world");
    if (!dlsym(RTLD_DEFAULT, "null_kernel") || !beneath) return 0;
    count(*beneath, pid, has);
    return 1;
}

int ids_left_in(const char *path, pid_t pid)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), has[KERNEL_HAS];
    if (fd < 0) return 1;
    /* Where its pointers lead. */
    struct world *w = mmap((void *)0x6f0000000000, sizeof *w, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    if (w == MAP_FAILED) return 1;
    count(w, pid, has);
    if (has[HAS_IDS]) printf("%d ids\n", has[HAS_IDS]);
    return 0;
}
