#!/bin/bash
# Programs that do unusual, legal things behave the same bare and preloaded.
# limit: 300
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
beh=$BIN/behaviour

# One program, one scene.
alike() { # NAME command…
    local name=$1; shift
    eval "scene_$name() { run program $(printf '%q ' "$@"); }"
    pair "$name"
}

# Programs without RDMA: nothing is mapped, started or written.
alike tasks "$beh/tasks"
shown program 'threads 1, RDMA libraries mapped 0'
no_lines program
alike ls ls -d / /usr /etc
alike shell bash -c 'echo $((1 + 1)); ls /proc/self/task | wc -l; exit 3'
shown program 'exit status 3'
alike python python3 -c 'import os; print(len(os.listdir("/proc/self/task")), [l for l in open("/proc/self/maps") if "rdmacm" in l or "ibverbs" in l])'
shown program '1 \[\]'
no_lines program

alike fork_child "$beh/fork" child
alike fork_both "$beh/fork" both
shown program 'inherited channel: rdma_create_id errno EACCES'
shown program 'child, new channel: RDMA_CM_EVENT_ADDR_RESOLVED 0'
alike exec_threaded "$beh/exec_threaded"
shown program 'second: route resolved'

for mode in event connect ep; do
    alike cancel_$mode "$beh/cancel" $mode
    shown program 'clean-up handler'
    shown program 'cancelled: 1'
    shown program 'goes on: 1'
done

alike signal_norestart "$beh/signals" norestart
shown program 'waiting: rdma_get_cm_event errno EINTR'
alike signal_restart "$beh/signals" restart
alike signal_longjmp "$beh/signals" longjmp
shown program 'jumped out'
shown program 'after: RDMA_CM_EVENT_ROUTE_RESOLVED 0'

# Ends with its last thread, and at once.
alike last_thread "$beh/last_thread"
shown program 'exit handler, SIGTERM blocked: 0'
shown program 'exit status 0'

alike no_memory "$beh/no_memory"
shown program 'failed 40'
shown program 'lives'

alike jumps "$beh/jumps"
shown program 'no harm: 0'
shown program 'exit status 0'
line program peer-kernel connect 'REJECTED 8'

alike environment "$beh/environment"
shown program 'asked 0 times'

alike constructor "$beh/constructor"
for mode in direct plugin deepbind; do
    alike dlopen_$mode "$beh/dlopen_local" $mode "$beh/plugin.so"
    shown program 'exit status 0'
done
alike closefrom "$beh/closefrom"
alike many "$beh/many"
shown program 'established 40, rejected 40'

# Destroying waits for an ack: named after a second, and goes on when it comes.
alike unacked_id "$beh/unacked" id
shown program 'rdma_destroy_id(id) = 0'
line program this-process teardown 'UNACKED_EVENTS' 'select(tostring | contains("ADDR_RESOLVED"))'
alike unacked_cq "$beh/unacked" cq
shown program 'ibv_destroy_cq(cq) = 0'
says program 'CQ_ERR'

finish
