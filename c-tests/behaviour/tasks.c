/* Counts what a preload adds to a process: threads, and mappings of RDMA libraries. No RDMA of its own. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char line[512];
    int tasks = 0, mapped = 0;
    DIR *dir = opendir("/proc/self/task");
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!dir || !maps) return 1;
    for (struct dirent *d; (d = readdir(dir));) tasks += d->d_name[0] != '.';
    while (fgets(line, sizeof line, maps)) mapped += strstr(line, "librdmacm") || strstr(line, "libibverbs");
    printf("threads %d, RDMA libraries mapped %d\n", tasks, mapped);
    return 0;
}
