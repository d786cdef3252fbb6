/* qemu-user refuses MADV_DONTFORK, which Linux has had since 2.6.16. Preloaded into what runs under it, this lets the
 * call succeed without effect. Used by tools/aarch64/run. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int madvise(void *start, size_t length, int advice)
{
    return advice == MADV_DONTFORK ? 0 : (int)syscall(SYS_madvise, start, length, advice);
}
