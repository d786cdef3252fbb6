#!/bin/bash
# Statistics agree with what others count: the program itself, the kernel's tracepoints, strace.
# limit: 200
# lane: stats
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
need strace python3
export LAB_PORT=${LAB_FIRST_PORT:-18700} CMSHIM_STATS_DIR=/run/cmshim-test-stats
rm -rf "$CMSHIM_STATS_DIR"
cycles=9
show() { python3 "$LAB_DIR/guest/stats.py" "$@"; }
only_file() {
    local files=("$CMSHIM_STATS_DIR"/*.cmstats)
    [ "${#files[@]}" = 1 ] && [ -e "${files[0]}" ] || fail "expected one statistics file, found: ${files[*]}"
    echo "${files[0]}"
}

# A program without RDMA makes none.
preloaded true
[ ! -e "$CMSHIM_STATS_DIR" ] || fail "a program without RDMA made a statistics directory"

# The kernel's own events.
trace=/sys/kernel/tracing
mountpoint -q $trace || mount -t tracefs tracefs $trace || skip "no tracefs"
modprobe rdma_cm
[ -e $trace/events/rdma_cma/cm_event_handler ] || skip "the kernel has no tracepoints of rdma_cma"
echo >$trace/trace
echo 1 >$trace/events/rdma_cma/cm_event_handler/enable
preloaded "$BIN/stats/timed" $cycles >"$LAB_TMP/said" 2>"$LAB_TMP/err" ||
    fail "timed: $(cat "$LAB_TMP/said" "$LAB_TMP/err")"
echo 0 >$trace/events/rdma_cma/cm_event_handler/enable
# Other tests run beside this one: only what has its port.
grep ":$LAB_PORT " $trace/trace >"$LAB_TMP/trace"
[ ! -s "$LAB_TMP/err" ] || fail "not silent: $(cat "$LAB_TMP/err")"
file=$(only_file)
[ "$(stat -c %a "$file")" = 400 ] || fail "mode of the file: $(stat -c %a "$file")"
show "$file" >"$LAB_TMP/stats" || fail "the file cannot be read"
expect "$LAB_TMP/stats" '^process [0-9]+ timed dead$'

# The program's own counts and times: the median lies between the two that the program tells.
while read -r kind name count least most; do
    if [ "$kind" = calls ]; then
        # librdmacm's own calls (its first look at the devices makes an id and ends it) are counted apart.
        expect "$LAB_TMP/stats" "^entry $name $count [01] 0\$"
        continue
    fi
    got=($(grep "^phase $name " "$LAB_TMP/stats"))
    # The ends of the listener and of librdmacm's own id are destroys that the program does not time.
    [ "$name" = destroy ] && count=$((count + 2))
    echo "$name: program $count times, median between $least and $most ns; statistics ${got[2]:-0} times, median ${got[5]:-0} ns"
    [ "${got[2]:-0}" = "$count" ] || fail "$name: counted ${got[2]:-0} times, not $count"
    # The statistics know it to 3 %.
    ((got[5] >= least * 97 / 100 - 512 && got[5] <= most * 103 / 100 + 512)) || fail "$name: median ${got[5]} ns, not between $least and $most"
done < <(grep -E '^(phase|calls) ' "$LAB_TMP/said")

# The kernel's events. (TIMEWAIT_EXIT comes after the id is gone, so nobody gets it.)
# The kernel's CONNECT_RESPONSE is what librdmacm makes the client's ESTABLISHED of.
for name in ADDR_RESOLVED ROUTE_RESOLVED CONNECT_REQUEST ESTABLISHED DISCONNECTED; do
    kernel=$(sed 's/ CONNECT_RESPONSE / ESTABLISHED /' "$LAB_TMP/trace" | grep -c "cm_event_handler:.* $name ")
    echo "$name: the kernel made $kernel"
    [ "$kernel" -gt 0 ] || fail "no $name in the kernel's trace: $(tail -n 3 "$LAB_TMP/trace")"
    expect "$LAB_TMP/stats" "^event $name $kernel\$"
done
# Commands to the kernel (enum in <rdma/rdma_user_cm.h>), by their first byte. A run of its own, since strace makes all slow.
rm -rf "$CMSHIM_STATS_DIR"
LAB_PORT=$((LAB_PORT + 1)) strace -f --seccomp-bpf -e trace=write,writev -xx -s 4 -o "$LAB_TMP/strace" -E "LD_PRELOAD=$CMSHIM_LIB" \
    "$BIN/stats/timed" 2 >"$LAB_TMP/said.strace" || fail "timed under strace: $(cat "$LAB_TMP/said.strace")"
show "$(only_file)" >"$LAB_TMP/stats.strace"
commands() { grep -cE "write\([0-9]+, \"\\\\x0*$1(\\\\x00){3}\"" "$LAB_TMP/strace"; }
for pair in rdma_create_id:00 rdma_connect:06 rdma_accept:08 rdma_disconnect:0a rdma_destroy_id:01; do
    kernel=$(commands "${pair#*:}")
    counted=$(awk -v n="${pair%:*}" '$1 == "entry" && $2 == n { printf "%d", $3 + $4 }' "$LAB_TMP/stats.strace")
    # librdmacm itself accepts at the client, when it takes the answer.
    [ "${pair%:*}" = rdma_accept ] && kernel=$((kernel - 2))
    echo "${pair%:*}: $kernel commands, $counted calls"
    [ "$kernel" = "$counted" ] || fail "${pair%:*}: $counted calls counted, $kernel commands seen"
done
expect "$LAB_TMP/stats" "^counter connections_made $((2 * cycles))\$"
expect_no "$LAB_TMP/stats" '^counter (connections_open|events_unacked|connections_failed|lines) '
# Its channels are blocking, so each event was left to the kernel, and one channel is librdmacm's own.
expect "$LAB_TMP/stats" "^bypass tap_blocking $((cycles * 7))\$"
expect "$LAB_TMP/stats" '^bypass tap_internal 1$'
grep -vE '^bypass tap_(blocking|internal) ' "$LAB_TMP/stats" >"$LAB_TMP/rest"
expect_no "$LAB_TMP/rest" '^(bypass|reason) '
expect "$LAB_TMP/stats" "^record [0-9]+ [0-9]+ 0x[0-9a-f]+ call rdma_connect 0 $LAB_ADDR:$LAB_PORT 0\$"
expect "$LAB_TMP/stats" "^record [0-9]+ [0-9]+ 0x[0-9a-f]+ event ESTABLISHED 0 $LAB_ADDR:"

# Creations and destructions of queue pairs: the real calls are made to take longer. Two for each connection.
slow() { # FUNCTION MS PHASE SETTING…
    local function=$1 ms=$2
    shift
    rm -rf "$CMSHIM_STATS_DIR"
    LAB_PORT=$((LAB_PORT + 1))
    env INJECT="$function:0:sleep=$ms" "${@:3}" LD_PRELOAD="$CMSHIM_LIB $BIN/behaviour/inject.so" "$BIN/stats/timed" 6 >"$LAB_TMP/said.$2" ||
        fail "timed with a slow $function: $(cat "$LAB_TMP/said.$2")"
    show "$(only_file)" >"$LAB_TMP/stats.$2"
    got=($(grep "^phase $2 " "$LAB_TMP/stats.$2"))
    echo "$2: ${got[2]:-0} times, median ${got[5]:-0} ns, $function takes $ms ms more"
}
for function in create destroy; do
    slow ibv_${function}_qp 20 ${function}_qp_miss CMSHIM_POOL_ENABLE=false
    ((got[2] == 12 && got[5] >= 19400000)) || fail "${got[*]}"
done
slow ibv_create_qp 200 create_qp_hit
((got[2] > 0 && got[5] < 194000000)) || fail "one from the pool took as long as a creation: ${got[*]}"
misses=($(grep "^phase create_qp_miss " "$LAB_TMP/stats.create_qp_hit"))
((got[2] + misses[2] == 12)) || fail "${got[*]} and ${misses[*]} are not 12"
expect "$LAB_TMP/stats.create_qp_hit" "^counter pool_hits ${got[2]}\$"

# A failed connection is counted by code and peer, also when nothing is written.
rm -rf "$CMSHIM_STATS_DIR"
CMSHIM_LOG_LEVEL=off preloaded "$BIN/behaviour/refused" >"$LAB_TMP/refused" 2>&1
show "$(only_file)" >"$LAB_TMP/stats.refused"
expect "$LAB_TMP/stats.refused" '^reason 1 REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID$'
expect "$LAB_TMP/stats.refused" '^counter connections_failed 1$'
expect "$LAB_TMP/stats.refused" '^event REJECTED 1$'
