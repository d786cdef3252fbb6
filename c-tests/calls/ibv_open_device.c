/* covers: ibv_open_device */
#include "verbs.h"
#include <sys/resource.h>

int main(void)
{
    struct ibv_device *device = verbs_device();
    struct ibv_context *ctx = TRY_PTR(ibv_open_device(device));
    MUST(ctx);
    say("right device %d", ctx->device == device);
    TRY(ibv_close_device(ctx));
    struct rlimit none = {0, 0};
    MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
    TRY_PTR(ibv_open_device(device));
    return 0;
}
