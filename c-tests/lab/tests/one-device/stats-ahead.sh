#!/bin/bash
# Batches and the time that events lie ready: the statistics agree with strace's count and the program's own clock.
# limit: 60
# lane: stats
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
need strace python3
export LAB_PORT=${LAB_FIRST_PORT:-18700} CMSHIM_STATS_DIR=/run/cmshim-test-ahead
rm -rf "$CMSHIM_STATS_DIR"
strace -f --seccomp-bpf -e trace=write,writev -xx -s 4 -o "$LAB_TMP/strace" -E "LD_PRELOAD=$CMSHIM_LIB" \
    "$BIN/stats/ahead" >"$LAB_TMP/said" 2>&1 || fail "ahead: $(cat "$LAB_TMP/said")"
files=("$CMSHIM_STATS_DIR"/*.cmstats)
python3 "$LAB_DIR/guest/stats.py" "${files[0]}" >"$LAB_TMP/stats" || fail "the file cannot be read"

# GET_EVENT is command 12, 16 bytes long (<rdma/rdma_user_cm.h>): what was written says how many events came.
grep -E 'writev\([0-9]+, \[\{iov_base="\\x0c' "$LAB_TMP/strace" | sed -nE 's/.* = ([0-9]+)$/\1/p' >"$LAB_TMP/written"
batches=$(wc -l <"$LAB_TMP/written")
events=$(awk '{ n += $1 / 16 } END { printf "%d", n }' "$LAB_TMP/written")
echo "strace: $batches calls brought $events events"
[ "$events" = 8 ] || fail "strace saw $events events, expected 8: $(cat "$LAB_TMP/strace")"
expect "$LAB_TMP/stats" "^counter batches $batches\$"
expect "$LAB_TMP/stats" "^counter events_batched $events\$"
sort -n "$LAB_TMP/written" | uniq -c | while read -r times bytes; do
    expect "$LAB_TMP/stats" "^batch $((bytes / 16)) $times\$"
done || exit 1
[ "$batches" -lt "$events" ] || fail "each event had a call of its own"

# The sum is kept exactly, so it lies between what the program saw from both sides.
read -r _ _ count sum _ < <(grep '^phase event_wait ' "$LAB_TMP/stats")
least=$(awk '$1 == "wait" { n += $2 } END { printf "%.0f", n }' "$LAB_TMP/said")
most=$(awk '$1 == "wait" { n += $3 } END { printf "%.0f", n }' "$LAB_TMP/said")
[ "$batches" = 1 ] || least=0 # what was read later lay ready for a shorter time
echo "event_wait: $count events, $sum ns; by the program's clock between $least and $most"
[ "$count" = "$events" ] || fail "event_wait: $count events"
((sum >= least && sum <= most)) || fail "event_wait: $sum ns"
rm -rf "$CMSHIM_STATS_DIR"
