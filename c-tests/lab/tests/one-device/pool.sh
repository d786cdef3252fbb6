#!/bin/bash
# Programs that create the same kind of queue pair again and again see the same bare and with the pool; and the pool was
# there: its counters say so.
# limit: 200
# lane: pool
FIRST_PORT=19300
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
export CMSHIM_POOL_IDLE_S=600 # the default is soon over on a busy machine
pool=$BIN/pool

# One program, one scene, and at the end the pool's own account of it.
alike() { # NAME command…
    local name=$1; shift
    eval "scene_$name() { run program $(printf '%q ' "$@"); }"
    pair "$name" CMSHIM_LOG_LEVEL=debug
    shown program 'exit status 0'
}

for kind in shared two-cqs caps sig-all data srq; do
    alike "shape_$kind" "$pool/shapes" $kind
    shown program 'all destroyed, the kernel has 0 queue pairs, 0 completion queues, 0 protection domains'
    says program 'pool: hits [1-9]'
done
for kind in types refused; do
    alike "shape_$kind" "$pool/shapes" $kind
    says program 'pool: hits [1-9][^;]*; misses: .*first'
done
for objects in orders orders_id; do
    alike $objects "$pool/$objects"
    says program 'evicted [1-9]'
done
alike events "$pool/events"
shown program 'event: CQ error'
says program 'pool: hits [1-9]'
alike bypass "$pool/bypass"
shown program 'extended 1: made'
says program 'pool: hits [1-9][^;]*; misses: .*unknown 16;'
counted() { # jq-filter: true for the statistics of the scene's process
    "$CMSHIM" stat --json "$(jq -s '.[0].pid' "$(log_of program)")" >"$LAB_TMP/$scene.stat" && jq -e "$1" "$LAB_TMP/$scene.stat" >/dev/null ||
        fault "the statistics are not so: $1; they are: $(jq -c '{counters, bypasses}' "$LAB_TMP/$scene.stat")"
}
counted '.bypasses.pool_unknown == 16 and .bypasses.pool_attributes == 0 and .counters.pool_hits > 0 and .counters.pool_misses > 0'
alike threads "$pool/threads"
says program 'pool: hits [1-9]'

# A fork while some lie ready: parent and child have a pool of their own, and neither leaves anything on the other's objects.
alike forked "$pool/forked" apart
shown program 'child exit status 7'
says program 'pool: hits [1-9][^;]*; misses: [^;]*unknown 6;'
[ "$(grep -c 'pool: hits [1-9]' "$(log_of program)")" = 2 ] || fault "not both have a pool: $(<"$(log_of program)")"
# The child goes on as a daemon, and destroys what it inherited.
alike forked_daemon "$pool/forked" daemon
shown program 'ibv_destroy_cq(s.cq) = 0'
shown program 'ibv_dealloc_pd(s.pd) = 0'

# The shim goes off while some lie ready.
alike off "$pool/off"
shown program 'ibv_destroy_cq(cq) = 0'
says program 'cmshim is off for this process'

# Asked for by the program itself.
way=shim scene=warm settings=(CMSHIM_LOG_LEVEL=debug)
run program "$pool/warm"
expected='warm(pd, &asked, 5) = 0, errno untouched
attributes kept 1
warm(pd, &asked, 0) = -1, errno EINVAL
warm(pd, NULL, 1) = -1, errno EINVAL
warm(pd, &foreign, 1) = -1, errno EOPNOTSUPP
warm(pd, &asked, 1) = -1, errno EOPNOTSUPP
warm(pd, &asked, 1) = -1, errno EOPNOTSUPP
warm, the kernel has 5 queue pairs, 1 completion queues, 1 protection domains
ibv_destroy_cq(cq) = 0, errno untouched
ibv_dealloc_pd(pd) = 0, errno untouched
all destroyed, the kernel has 0 queue pairs, 0 completion queues, 0 protection domains
exit status 0'
[ "$(<"$(out_of program)")" = "$expected" ] || fault "not as expected: $(<"$(out_of program)")"
says program 'pool: hits 5; misses: ;'

# An event of a queue pair that lies ready is none of the program's.
scene=dropped OWN_PRELOAD=$BIN/pool/strange.so
run program "$pool/dropped"
grep -q 'ibv_get_async_event(ctx, &event) = -1, errno EAGAIN' "$(out_of program)" || fault "$(<"$(out_of program)")"
says program 'events dropped 1'

# The device fails.
export STRANGE=fatal
alike fatal "$pool/fatal"
shown program 'event: local catastrophic error'
shown program 'the device failed, the kernel has 0 queue pairs'
says program 'pool: hits [1-9][^;]*; misses: [^;]*device 4;.*evicted [1-9]'
OWN_PRELOAD=
finish
