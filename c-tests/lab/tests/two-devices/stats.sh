#!/bin/bash
# Statistics agree with the kernel's counters of the port: messages of the connection manager (sysfs), and packets
# (`rdma statistic`). Nothing else runs in this guest meanwhile.
# limit: 90
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
need jq rdma rping
export CMSHIM_STATS_DIR=/run/cmshim-test-port LAB_PORT=19900
rm -rf "$CMSHIM_STATS_DIR"
port=/sys/class/infiniband/rxe1/ports/1
[ -e $port/cm_tx_msgs/req ] || skip "the kernel has no counters of CM messages"

# Messages by kind, those that were sent again not counted; and packets.
look() {
    local kind
    for kind in req rep rtu rej dreq drep; do
        echo "$kind $(($(<$port/cm_tx_msgs/$kind) - $(<$port/cm_tx_retries/$kind)))"
    done
    echo "packets $(rdma -j statistic show link rxe1/1 | jq '.[0].rdma_sends')"
}
look >"$LAB_TMP/before"
preloaded "$BIN/stats/timed" 7 >"$LAB_TMP/timed" || fail "timed: $(cat "$LAB_TMP/timed")"
for _ in 1 2; do
    CMSHIM_LOG_LEVEL=off preloaded "$BIN/behaviour/refused" >"$LAB_TMP/refused" 2>&1
done
"$CMSHIM" stat --all --json >"$LAB_TMP/stat.json"
by_kernel() { join "$LAB_TMP/before" "$LAB_TMP/after" | awk -v kind="$1" '$1 == kind { printf "%d", $3 - $2 }'; }
by_us() { jq "[.[] | $1] | add" "$LAB_TMP/stat.json"; }
calls() { by_us ".calls[] | select(.call == \"$1\") | .program"; }
# The last answers may be on their way.
answered() { look | sort >"$LAB_TMP/after" && [ "$(by_kernel dreq)" = "$(by_us .phases.disconnect.count)" ]; }
sort -o "$LAB_TMP/before" "$LAB_TMP/before"
wait_until 10 answered
equal() { # MESSAGE COUNT WHAT
    echo "$1: the kernel sent $(by_kernel "$1"), statistics say $2 ($3)"
    [ "$(by_kernel "$1")" = "$2" ] && [ "$2" -gt 0 ] || fail "$1 differs"
}
equal req "$(calls rdma_connect)" "calls of rdma_connect"
equal rep "$(calls rdma_accept)" "calls of rdma_accept"
equal rtu "$(by_us .phases.accept_to_established.count)" "requests that became connections"
equal rej "$(by_us .events.REJECTED)" "REJECTED"
equal dreq "$(by_us .phases.disconnect.count)" "disconnects that were answered"
# Each message is one packet, and the programs send nothing themselves. (Those that were sent again are packets, too.)
messages=$(join "$LAB_TMP/before" "$LAB_TMP/after" | awk '$1 != "packets" { n += $3 - $2 } END { printf "%d", n }')
packets=$(by_kernel packets)
echo "packets: rdma statistic counts $packets, the kernel's messages are $messages"
[ "$packets" -ge "$messages" ] && [ "$packets" -le $((messages * 2)) ] || fail "packets differ"

# Present numbers: what is open now, and what lies ready, is what the kernel has of the process.
start preloaded rping -s -a "$LAB_ADDR" -p 19901 >"$LAB_TMP/rping.s" 2>&1
server=$!
wait_listen 19901
start preloaded rping -c -a "$LAB_ADDR" -p 19901 -C 100000000 >"$LAB_TMP/rping.c" 2>&1
client=$!
open() { "$CMSHIM" stat "$1" --json 2>/dev/null | jq '.counters.connections_open'; }
both_open() { [ "$(open $server)$(open $client)" = 11 ]; }
wait_until 20 both_open
for pid in $server $client; do
    connected=$(rdma resource show cm_id | grep -c "state CONNECT .*pid $pid ")
    pairs=$(rdma resource show qp | grep -c " pid $pid ")
    idle=$("$CMSHIM" stat $pid --json | jq '.counters.pool_idle')
    echo "rping $pid: the kernel has $connected connections, statistics $(open $pid); $pairs queue pairs, $idle of them ready"
    [ "$connected" = 1 ] && [ "$(open $pid)" = 1 ] || fail "open connections differ"
    [ "$pairs" = $((1 + idle)) ] || fail "queue pairs differ"
done
kill -KILL $server $client
wait $server $client 2>/dev/null
rm -rf "$CMSHIM_STATS_DIR"
