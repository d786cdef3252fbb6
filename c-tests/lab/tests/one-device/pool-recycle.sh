#!/bin/bash
# Recycled queue pairs: the reuse probe refuses Soft-RoCE, and why that is right; on a device that cleans up (a preload beneath
# the shim plays one) they come back after their quarantine, and a stale one is taken out.
# limit: 150
# lane: pool
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
export CMSHIM_POOL_IDLE_S=600 # the default is soon over on a busy machine
# Their own place: readers remove the files of the dead, and other tests have many.
export CMSHIM_STATS_DIR=/run/cmshim-test-pool-recycle
rm -rf "$CMSHIM_STATS_DIR"
scrub=$BIN/pool/scrub.so
recycle=(CMSHIM_LOG_LEVEL=info CMSHIM_POOL_RECYCLE=true CMSHIM_POOL_QUARANTINE_MS=100)
refused='pool: queue pairs of rxe0 are not used again: after RESET, completions of the old connection are left'
passed='pool: queue pairs of rxe0 are used again'

scene_data() { run program "$BIN/pool/recycle" data 150; }
# Eight connections, two queue pairs each: every creation and destruction is counted once. What came into the pool, made or used, has
# left it: all that it stood on is gone.
times='def times($phase): .phases[$phase].count // 0; def hit($what): times($what + "_hit"); def miss($what): times($what + "_miss"); .'
accounts() { # jq-filter: what else is true
    counted "$times"'
        | (.counters.pool_hits + .counters.pool_misses == 16)
        and hit("create_qp") == .counters.pool_hits and miss("create_qp") == .counters.pool_misses
        and hit("destroy_qp") == .counters.pool_recycled and hit("destroy_qp") + miss("destroy_qp") == 16
        and (.counters | .pool_filled + .pool_recycled == .pool_hits + .pool_evicted)
        and .counters.pool_idle == 0 and .counters.pool_quarantined == 0 and .counters.pool_given_back == 0
        and '"($1)"
}
alone() { # NAME KEY=VALUE…   the preloaded way only
    scene=$1 way=shim settings=("${@:2}")
    export LAB_PORT=$((port += 1))
    eval "scene_$scene() { :; }"
}

# Off by default: no probe.
pair data CMSHIM_LOG_LEVEL=info
shown program 'completions of an earlier connection: 0'
! grep -q 'used again:' "$(log_of program)" || fault "a probe without being asked"
says program 'pool: hits [1-9].*parked 0'
accounts '.counters.pool_recycled == 0'

# Asked for: Soft-RoCE does not pass, and nothing is different.
eval "scene_unsound() { scene_data; }"
pair unsound "${recycle[@]}" "TRIAL_SAYS=$refused"
says program "$refused"
says program 'parked 0, used again 0'
accounts '.counters.pool_recycled == 0'

# The probe is made to pass, and the device does not clean up: a new connection gets what an old one left.
alone forced "${recycle[@]}" "TRIAL_SAYS=$passed"
OWN_PRELOAD=$scrub
SCRUB=keeper run program "$BIN/pool/recycle" data 150
says program "$passed"
says program 'used again [1-9]'
grep -q 'completions of an earlier connection: [1-9]' "$(out_of program)" || fault "$(<"$(out_of program)")"

# A device that does.
export SCRUB=all
eval "scene_sound() { scene_data; }"
recycle+=("TRIAL_SAYS=$passed")
pair sound "${recycle[@]}"
says program "$passed"
says program 'parked [1-9][0-9]*, used again [1-9]'
accounts '.counters.pool_recycled > 0 and .counters.pool_evicted > 0'

# Nothing comes back before its time.
eval "scene_rest() { scene_data; }"
pair rest "${recycle[@]}" CMSHIM_POOL_QUARANTINE_MS=600000
says program 'parked [1-9][0-9]*, used again 0'
accounts '.counters.pool_recycled > 0 and .counters.pool_evicted >= .counters.pool_recycled'

# Those in quarantine are seen there, as long as they wait.
eval "scene_kept() { run program '$BIN/pool/recycle' kept 150; }"
pair kept "${recycle[@]}" CMSHIM_POOL_QUARANTINE_MS=600000
counted '.counters | .pool_quarantined > 0 and .pool_quarantined == .pool_recycled and .pool_evicted == 0'
counted "$times | hit(\"destroy_qp\") == .counters.pool_quarantined"
counted '.counters | .pool_idle == .pool_filled + .pool_recycled - .pool_hits'

# What nobody needed is given back, all of it, and is nobody's hit.
alone idle CMSHIM_LOG_LEVEL=info CMSHIM_POOL_IDLE_S=2 CMSHIM_POOL_WARM=4
back program "$BIN/pool/rest"
given_back() {
    local child
    child=$(<"/proc/${pids[program]}/task/${pids[program]}/children") child=${child%% *}
    [ -n "$child" ] && "$CMSHIM" stat --json "$child" 2>/dev/null >"$LAB_TMP/idle.stat" &&
        jq -e '.counters | .pool_filled > 0 and .pool_given_back == .pool_filled' "$LAB_TMP/idle.stat" >/dev/null && resting=$child
}
resting=''
wait_until 30 given_back
[ -n "$resting" ] || fault "not given back: $(<"$LAB_TMP/idle.stat")"
stop program
counted '.counters | .pool_evicted == .pool_given_back and .pool_idle == 0 and .pool_hits == 0 and .pool_misses == 1' "$resting"

# Queue pairs without an id: they come back while nothing was done to them; of others it is not known whom they talked to,
# also when the program has moved them to RESET.
again() { # PARKED PROGRAM ARGUMENTS
    local parked=$1 name=again_${2}_${3:-}
    eval "scene_$name() { run program $BIN/pool/${*:2}; }"
    pair "$name" "${recycle[@]}"
    shown program 'exit status 0'
    says program "parked $parked, "
}
again '[1-9][0-9]*' orders
again '[1-9][0-9]*' shapes shared
for what in threads events "shapes data" "shapes back"; do
    # shellcheck disable=SC2086 # two words
    again 0 $what
done

# The peer's kernel believes a used-again one connected.
alone stale "${recycle[@]}"
run program "$BIN/pool/recycle" stale 150
grep -q 'client: RDMA_CM_EVENT_REJECTED 10' "$(out_of program)" || fault "$(<"$(out_of program)")"
grep -q 'taken out: 1' "$(out_of program)" || fault "$(<"$(out_of program)")"
line program peer-kernel connect 'REJECTED 10' 'select(.details | tostring | contains("pool.recycle"))'

# Nothing of all this is left in the kernel.
scene=all
for kind in qp cq pd mr; do
    left=$(rdma resource show $kind | grep -E 'comm (recycle|orders|threads|events|shapes)( |$)')
    [ -z "$left" ] || fault "left behind: $left"
done
finish
