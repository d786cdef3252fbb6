/* What the null kernel still has of a process. */
#include "../null-kernel/null.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

int left_in(const char *path, pid_t pid);

int left_in(const char *path, pid_t pid)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 1;
    /* Where its pointers lead. */
    struct world *w = mmap((void *)0x6f0000000000, sizeof *w, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    if (w == MAP_FAILED) return 1;
    for (int i = 0; i < IDS; i++)
        if (w->ids[i].used && w->ids[i].file->process == pid && w->ids[i].state != LISTENS) printf("id %d in state %d\n", i, w->ids[i].state);
    return 0;
}
