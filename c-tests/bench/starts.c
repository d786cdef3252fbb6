/* Program start-up: starts a program again and again, its output thrown away.
 * usage: starts TIMES [-p LIBRARY] PROGRAM ARGS...
 * -p preloads LIBRARY into the program only. Prints the microseconds from start to end: median mean. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int smaller(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double one_start(const char *library, char **command)
{
    double begin = now_us();
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        dup2(nowhere, 0);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
        if (library) setenv("LD_PRELOAD", library, 1);
        execvp(command[0], command);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 127) {
        fprintf(stderr, "starts: %s could not be run\n", command[0]);
        exit(1);
    }
    return now_us() - begin;
}

int main(int argc, char **argv)
{
    int times = argc > 2 ? atoi(argv[1]) : 0;
    const char *library = NULL;
    char **command = argv + 2;
    if (times > 0 && argc > 4 && !strcmp(argv[2], "-p")) {
        library = argv[3];
        command = argv + 4;
    }
    if (times < 1 || !*command) {
        fprintf(stderr, "usage: starts TIMES [-p LIBRARY] PROGRAM ARGS...\n");
        return 2;
    }
    double *took = calloc(times, sizeof *took), sum = 0;
    if (!took) return 1;
    for (int i = 0; i < times; i++) sum += took[i] = one_start(library, command);
    qsort(took, times, sizeof *took, smaller);
    printf("%.1f %.1f\n", took[times / 2], sum / times);
    free(took);
    return 0;
}
