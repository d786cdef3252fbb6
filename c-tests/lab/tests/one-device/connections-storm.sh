#!/bin/bash
# Sixty clients at once against a server that asked for a backlog of 4: the kernel drops requests silently.
# With listen.min_backlog the small backlog is raised and all are connected at once.
# limit: 300
FIRST_PORT=18850
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
conn=$BIN/connections

scene_storm() {
    port=$((port + 1))
    back server "$conn/hold" "$LAB_ADDR" $port 4 20000 90000
    until_says server listening
    run client "$conn/storm" "$LAB_ADDR" $port 60 20000 "$LAB_TMP/$scene.$way.ms"
    stop server
    echo "$scene $way: $(cat "$LAB_TMP/$scene.$way.ms") ms, $(head -1 "$(out_of client)")"
}

scene=relief
settings=(CMSHIM_LISTEN_MIN_BACKLOG=128)
for way in bare shim; do scene_storm; done
grep -q 'connected 60 of 60' "$LAB_TMP/relief.shim.client.out" || fault "not all connected with the backlog raised"
[ "$(cat "$LAB_TMP/relief.shim.ms")" -lt 6000 ] || fault "slow although the backlog was raised"
[ "$(cat "$LAB_TMP/relief.bare.ms")" -gt "$(cat "$LAB_TMP/relief.shim.ms")" ] || fault "the bare run was as fast"

scene=untouched
settings=(CMSHIM_LISTEN_MIN_BACKLOG=0)
way=shim
scene_storm
[ "$(cat "$LAB_TMP/untouched.shim.ms")" -gt "$(cat "$LAB_TMP/relief.shim.ms")" ] || fault "min_backlog=0 still raises"
finish
