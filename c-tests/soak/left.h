/* What a kernel has of a process. */
#ifndef LEFT_H
#define LEFT_H
#include <sys/types.h>

enum kernel_has { HAS_IDS, HAS_QPS, HAS_CQS, HAS_PDS, HAS_MRS, KERNEL_HAS };

int null_kernel_has(pid_t pid, int has[KERNEL_HAS]); /* 0: it is another kernel */
int ids_left_in(const char *world, pid_t pid);       /* prints them */
#endif
