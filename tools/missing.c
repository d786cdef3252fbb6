/* Finds rdma_reject_ece (in the preload library) where librdmacm has none, and calls it twice. */
#include <dlfcn.h>
#include <errno.h>

int main(void)
{
	int (*reject)(void *, const void *, unsigned char);

	*(void **)&reject = dlsym(RTLD_DEFAULT, "rdma_reject_ece");
	if (!reject || !dlopen("librdmacm.so.1", RTLD_NOW))
		return 2;
	for (int i = 0; i < 2; i++) {
		errno = 0;
		if (reject(0, 0, 0) != -1 || errno != ENOSYS)
			return 1;
	}
	return 0;
}
