#!/bin/bash
# Creations that fail or are slow (a preload beneath the shim makes them so): the program sees nothing that it would not
# see bare, and slow ones do not slow its connections.
# limit: 200
# lane: pool
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

# Bad moments. (One arena, and nothing kept aside: the address of what was freed comes again, whichever thread asks.)
OWN_PRELOAD=$BIN/pool/slow.so
scene_fork() { run program "$BIN/pool/moments" fork; }
pair fork CMSHIM_LOG_LEVEL=debug
shown program 'children that did not end well: 0'
scene_twin() { run program "$BIN/pool/moments" twin; }
pair twin CMSHIM_LOG_LEVEL=debug
shown program 'parent.s, too: 0'
says program 'pool: hits [1-9]'
scene_close() {
    GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1 run program "$BIN/pool/moments" close
}
pair close CMSHIM_LOG_LEVEL=debug
says program 'pool: hits [1-9]'
OWN_PRELOAD=$BIN/behaviour/inject.so

# 20 ms for each creation: connections find one ready. How many, and how long they take, is make bench's.
scene=slow
export LAB_PORT=$((port += 1))
CMSHIM_LOG_FILE=$LAB_TMP/slow.log CMSHIM_LOG_LEVEL=info INJECT=ibv_create_qp:0:sleep=20 LD_PRELOAD="$CMSHIM_LIB $OWN_PRELOAD" \
    "$BIN/pool/churn" shared 40 60000 times >"$LAB_TMP/slow.out" || fault "churn does not run: $(<"$LAB_TMP/slow.out")"
hits=$(sed -nE 's/.*pool: hits ([0-9]+).*/\1/p' "$LAB_TMP/slow.log")
echo "of 80 creations of 20 ms, $hits were made before they were asked for"
[ "${hits:-0}" -gt 0 ] || fault "none: $(<"$LAB_TMP/slow.log")"
finish
