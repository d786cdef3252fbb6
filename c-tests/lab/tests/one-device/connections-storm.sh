#!/bin/bash
# Sixty clients at once against a server that asked for a backlog of 4 and does not read: the kernel drops requests silently.
# With listen.min_backlog the small backlog is raised and the kernel keeps them all. (What that is worth in time: the clients of
# dropped requests ask again after 4 s.)
# limit: 120
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
conn=$BIN/connections

scene_storm() { # sets $kept: how many requests lay ready when the server began to read
    local name=$LAB_TMP/$scene.$way
    port=$((port + 1))
    back server "$conn/hold" "$LAB_ADDR" $port 4 "$name.go" "$name.kept"
    until_says server listening
    back client "$conn/storm" "$LAB_ADDR" $port 60
    until_says client 'all have asked'
    nap 1 # a request is on its way for so long at most, and it is sent again after 4 s
    : >"$name.go"
    until_says server counted
    kept=$(<"$name.kept")
    [ "${1:-}" != whole ] || join client
    stop server
    [ "${1:-}" = whole ] || stop client
    echo "$scene $way: $kept of 60 requests were kept"
}

scene=relief
settings=(CMSHIM_LISTEN_MIN_BACKLOG=128)
way=bare
scene_storm
bare=$kept
way=shim
scene_storm whole
has "$(out_of client)" 'connected 60 of 60' || fault "not all connected with the backlog raised: $(<"$(out_of client)")"
[ "$kept" -gt $((2 * bare)) ] || fault "the kernel kept $kept requests, and $bare of the bare run"

scene=untouched
settings=(CMSHIM_LISTEN_MIN_BACKLOG=0)
scene_storm
[ "$kept" -le $((2 * bare)) ] || fault "min_backlog=0 still raises: $kept requests, and $bare of the bare run"
finish
