#!/bin/bash
# Five hundred refused connects: a handful of lines that account for all of them, and not much slower than bare.
# limit: 300
FIRST_PORT=18780
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"

scene_flood() {
    SECONDS=0
    run client "$BIN/connections/client" "$LAB_ADDR" $port n=500 quiet=1
    echo $SECONDS >"$LAB_TMP/$way.seconds"
}
pair flood CMSHIM_REASONS_REPEAT_S=60
shown client 'REJECTED 500 times'
at_most client 5
[ "$(jq -s 'map(.repeats.count // 1) | add' "$(log_of client)")" = 500 ] ||
    fault "the lines do not account for 500 refusals: $(tail -3 "$(log_of client)")"
bare=$(<"$LAB_TMP/bare.seconds") shim=$(<"$LAB_TMP/shim.seconds")
echo "bare $bare s, preloaded $shim s"
[ "$shim" -le $((bare * 2 + 5)) ] || fault "$shim s preloaded, $bare s bare"

# A line for each: what a line has to look up in many files is looked up once.
way=shim scene=lines settings=(CMSHIM_REASONS_REPEAT_S=0)
run client strace -f -qq -e trace=openat,open -o "$LAB_TMP/opened" "$BIN/connections/client" "$LAB_ADDR" $port n=20 quiet=1
[ "$(jq -s 'map(select(.device.roce == "RoCE v2")) | length' "$(log_of client)")" = 20 ] ||
    fault "not 20 lines that know their RoCE: $(tail -2 "$(log_of client)")"
gids=(/sys/class/infiniband/rxe0/ports/1/gids/*)
opened=$(grep -c '/gids/[0-9]' "$LAB_TMP/opened")
[ "$opened" = ${#gids[@]} ] || fault "for 20 lines $opened files of GIDs were opened; there are ${#gids[@]}"
finish
