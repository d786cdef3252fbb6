/* covers: ibv_open_device */
#include "verbs.h"
#include <sys/resource.h>

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    MUST(list && list[0]);
    struct ibv_context *ctx = TRY_PTR(ibv_open_device(list[0]));
    MUST(ctx);
    say("right device %d", ctx->device == list[0]);
    TRY(ibv_close_device(ctx));
    struct rlimit none = {0, 0};
    MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
    TRY_PTR(ibv_open_device(list[0]));
    ibv_free_device_list(list);
    return 0;
}
