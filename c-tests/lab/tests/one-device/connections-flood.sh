#!/bin/bash
# Five hundred refused connects: a handful of lines that account for all of them; where each has a line of its own, that costs no thousand look-ups.
# limit: 300
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"

scene_flood() {
    run client "$BIN/connections/client" "$LAB_ADDR" $port n=500 quiet=1
}
pair flood CMSHIM_REASONS_REPEAT_S=60
shown client 'REJECTED 500 times'
at_most client 5
[ "$(jq -s 'map(.repeats.count // 1) | add' "$(log_of client)")" = 500 ] ||
    fault "the lines do not account for 500 refusals: $(tail -3 "$(log_of client)")"
# A line for each: what a line has to look up in many files is looked up once.
way=shim scene=lines settings=(CMSHIM_REASONS_REPEAT_S=0)
run client strace -f -qq -e trace=openat,open -o "$LAB_TMP/opened" "$BIN/connections/client" "$LAB_ADDR" $port n=20 quiet=1
[ "$(jq -s 'map(select(.device.roce == "RoCE v2")) | length' "$(log_of client)")" = 20 ] ||
    fault "not 20 lines that know their RoCE: $(tail -2 "$(log_of client)")"
gids=(/sys/class/infiniband/rxe0/ports/1/gids/*)
opened=$(grep -c '/gids/[0-9]' "$LAB_TMP/opened")
[ "$opened" = ${#gids[@]} ] || fault "for 20 lines $opened files of GIDs were opened; there are ${#gids[@]}"
finish
