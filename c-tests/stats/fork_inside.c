// A signal handler forks while a call is being counted, and returns in the child: the call goes on in both. The library
// looks at the clock in the middle of that, through the function here.
#define _GNU_SOURCE
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t armed, in_child, inside;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (armed) {
		armed = 0;
		inside = 1;
		raise(SIGUSR1);
	}
	return syscall(SYS_clock_gettime, clock, time);
}

static void handler(int signal)
{
	int status = -1;
	pid_t child = fork();

	(void)signal;
	if (child == 0) {
		in_child = 1;
		return;
	}
	waitpid(child, &status, 0);
	printf("the child ended with %#x\n", status);
	fflush(stdout);
}

int main(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = NULL;

	signal(SIGUSR1, handler);
	armed = 1;
	rdma_create_id(channel, &id, NULL, RDMA_PS_TCP);
	if (in_child)
		_exit(0);
	printf("inside %d\n", inside);
	return 0;
}
