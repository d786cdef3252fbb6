#!/bin/bash
# Programs that create the same kind of queue pair again and again see the same bare and with the pool; and the pool was
# there: its counters say so.
# limit: 200
# lane: pool
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
export CMSHIM_POOL_IDLE_S=600 # the default is soon over on a busy machine
# Their own place: readers remove the files of the dead, and other tests have many.
export CMSHIM_STATS_DIR=/run/cmshim-test-pool
rm -rf "$CMSHIM_STATS_DIR"
pool=$BIN/pool
settings_of_alike=()

# One program, one scene, and at the end the pool's own account of it.
alike() { # NAME command…
    local name=$1; shift
    eval "scene_$name() { run program $(printf '%q ' "$@"); }"
    pair "$name" CMSHIM_LOG_LEVEL=debug "${settings_of_alike[@]}"
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
# Kinds that differ in one thing alone.
alike kinds "$pool/kinds"
for type in UC RC; do shown program "type $type, own pd 1, send cq 1, recv cq 1, srq 1"; done
counted '.counters.pool_hits > 0'
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
counted '.bypasses.pool_unknown == 16 and .bypasses.pool_attributes == 0 and .counters.pool_hits > 0 and .counters.pool_misses > 0'
# Each under its own reason, and no other: attributes beyond the plain ones, UD, a pool that is off, a device that changes what was
# asked.
by_passed() { # REASON NUMBER
    counted "[.bypasses | to_entries[] | select(.key | startswith(\"pool_\")) | select(.value > 0)] == [{key: \"$1\", value: $2}]"
}
alike extended "$pool/passed_by" extended
shown program 'extended 4: 0, to use by ibv_wr_start: 1'
by_passed pool_attributes 5
counted '.counters.pool_hits + .counters.pool_misses == 3'
alike type "$pool/passed_by" type
by_passed pool_type 6
counted '.counters.pool_hits + .counters.pool_misses == 0'
settings_of_alike=(CMSHIM_POOL_ENABLE=false)
alike disabled "$pool/passed_by" plain
by_passed pool_disabled 6
settings_of_alike=()
OWN_PRELOAD=$pool/strange.so STRANGE=changed
export STRANGE
alike changed "$pool/passed_by" plain
shown program 'plain 5: sq_sig_all is 1 now'
by_passed pool_changed 6
counted '.counters.pool_hits == 0 and .counters.pool_filled == 0'
unset STRANGE OWN_PRELOAD
# A provider without locks: no thread of ours may be on the program's queues.
export MLX5_SINGLE_THREADED=1
alike single_threaded "$pool/passed_by" plain
by_passed pool_threads 6
counted '.counters.pool_filled == 0'
says program 'MLX5_SINGLE_THREADED=1: the pool is off'
unset MLX5_SINGLE_THREADED
# A device whose buffers the program's functions allocate: what was ready on it goes, and nothing more is made.
OWN_PRELOAD=$pool/allocators.so
alike allocators "$pool/passed_by" allocators
shown program 'allocators: 0'
by_passed pool_threads 6
counted '.counters.pool_hits > 0'
says program 'mlx5dv_set_context_attr: functions of the program allocate'
unset OWN_PRELOAD
alike threads "$pool/threads"
says program 'pool: hits [1-9]'

# A fork while some lie ready: parent and child have a pool of their own, and neither leaves anything on the other's objects.
alike forked "$pool/forked" apart
shown program 'child exit status 7'
says program 'pool: hits [1-9][^;]*; misses: [^;]*unknown 12;' # and what stands on the device that it inherited
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
by_passed pool_device 4
says program 'pool: hits [1-9][^;]*; misses: [^;]*device 4;.*evicted [1-9]'
OWN_PRELOAD=
finish
