/* covers: ibv_get_device_list */
#include "verbs.h"
#include <sys/resource.h>

static void list(int *number)
{
    struct ibv_device **devices = TRY_PTR(ibv_get_device_list(number));
    int n = 0;
    while (devices && devices[n]) n++;
    say("some %d, number right %d", n > 0, !number || !devices || *number == n);
    if (devices) ibv_free_device_list(devices);
}

int main(void)
{
    int number = -2;
    list(&number);
    list(NULL);
    struct rlimit none = {0, 0};
    MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
    list(&number);
    return 0;
}
