#!/bin/bash
# Creations that fail or are slow (a preload beneath the shim makes them so): the program sees nothing that it would not
# see bare, and slow ones do not slow its connections.
# limit: 200
# lane: pool
FIRST_PORT=19450
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
OWN_PRELOAD=$BIN/behaviour/inject.so

# The keeper's own creation fails: the program's go on.
for number in 1 2; do
    for errno in 12 22; do
        eval "scene_keeper_${number}_$errno() { export INJECT=ibv_create_qp:$number:$errno INJECT_THREAD=cmshim-keeper; run program '$BIN/pool/shapes' shared; }"
        pair keeper_${number}_$errno CMSHIM_LOG_LEVEL=debug
        says program 'pool: .*not made 1'
    done
done

# Every creation fails from the start, or the first one: as bare.
for number in 0 1; do
    eval "scene_all_$number() { export INJECT=ibv_create_qp:$number:12; run program '$BIN/pool/shapes' shared; }"
    pair all_$number CMSHIM_LOG_LEVEL=debug
    shown program 'none, errno ENOMEM'
done

# The program's own call fails while queue pairs lie ready: they go, and it works.
scene_rescued() { [ $way = bare ] || export INJECT=ibv_create_cq:4:12; run program "$BIN/pool/rescue" cq; }
pair rescued CMSHIM_LOG_LEVEL=debug CMSHIM_POOL_WARM=8
shown program 'cq 8: made'
says program 'pool: .*rescued 1'
scene_rescued_qp() { [ $way = bare ] || export INJECT=ibv_create_qp:2:12 INJECT_THREAD=rescue; run program "$BIN/pool/rescue" qp; }
pair rescued_qp CMSHIM_LOG_LEVEL=debug CMSHIM_POOL_WARM=8
shown program 'rdma_create_qp(id, pd, &other) = 0'
says program 'pool: .*evicted [1-9].*rescued 1'

# 20 ms for each creation.
connect_us() { # KEY=VALUE...
    (
        export LAB_PORT=$((port += 1)) "$@"
        read -r _ _ median _ < <(LD_PRELOAD="$CMSHIM_LIB $OWN_PRELOAD" "$BIN/pool/churn" shared 40 60000 times)
        echo "$median"
    )
}
scene=slow
undisturbed=$(connect_us A=a)
slow=$(connect_us INJECT=ibv_create_qp:0:sleep=20)
bare=$(connect_us INJECT=ibv_create_qp:0:sleep=20 CMSHIM_POOL_ENABLE=false)
echo "median of a connect: $undisturbed us; with creations of 20 ms more: $slow us with the pool, $bare us without"
# The medians of two runs in an emulated guest differ by more than a tenth now and then: make bench measures that.
[ "$slow" -lt $((undisturbed * 3 / 2)) ] || fault "slow creations slow the connections: $slow us instead of $undisturbed us"
[ "$bare" -gt $((undisturbed + 30000)) ] || fault "without the pool they would not: $bare us"
finish
