#!/bin/bash
# A program's file as the commands show it: while it lives, and after kill -9 in the middle of a connect.
# limit: 120
# parallel
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
need jq python3
export LAB_PORT=${LAB_FIRST_PORT:-18700} CMSHIM_STATS_DIR=/run/cmshim-test-shown
rm -rf "$CMSHIM_STATS_DIR"

# What a program and its child did, told after their end; the numbers are the program's own.
"$CMSHIM" run --library "$CMSHIM_LIB" --log-level off --report -- sh -c '"$1" 4; "$2"; exit 5' sh "$BIN/stats/timed" "$BIN/behaviour/refused" >"$LAB_TMP/reported" 2>"$LAB_TMP/report"
expect_status 5 $? "the program's own status"
wait_until 30 has "$LAB_TMP/report" $'\n  more ' || fail "no report: $(cat "$LAB_TMP/report")"
expect "$LAB_TMP/report" '^  processes   all of these together: timed [0-9]+, refused [0-9]+$'
expect "$LAB_TMP/report" '^  connections 8 made, 1 failed, 0 open at the end, 4 requests taken$'
expect "$LAB_TMP/report" '^  failed      1 x REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID: nobody listens there$'
expect "$LAB_TMP/report" '^  phases      resolve_addr +5 x  p50 '
expect "$LAB_TMP/report" '^  pool        [0-9]+ of 9 queue pairs came from it'
expect "$LAB_TMP/report" '^  batching    not used: 3[0-9] reads on blocking channels were left to the kernel$'
cat "$LAB_TMP/report"
LAB_PORT=$((LAB_PORT + 1))
rm -rf "$CMSHIM_STATS_DIR"

# Refused: what it leaves behind.
CMSHIM_LOG_LEVEL=off preloaded "$BIN/behaviour/refused" >"$LAB_TMP/refused" 2>&1
files=("$CMSHIM_STATS_DIR"/*.cmstats)
"$CMSHIM" events "${files[0]}" >"$LAB_TMP/events.refused" || fail "no events of the refused program"
expect "$LAB_TMP/events.refused" '^refused [0-9]+, dead, '
expect "$LAB_TMP/events.refused" ' \+[0-9.]+ .?s  REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID: .*the peer.s kernel'
"$CMSHIM" stat "${files[0]}" >"$LAB_TMP/stat.refused" || fail "no statistics of the refused program"
expect "$LAB_TMP/stat.refused" '^  1 x REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID, by the peer.s kernel, at stage connect'

# Alive, in a call that does not come back.
"$CMSHIM" run --library "$CMSHIM_LIB" --log-level off --report-file "$LAB_TMP/report.killed" -- "$BIN/stats/hang" call >"$LAB_TMP/hang" &
pid=$!
wait_until 30 has "$LAB_TMP/hang" connecting || fail "it does not connect"
inside_connect() { "$CMSHIM" events $pid | grep -q 'rdma_connect: under way$'; }
wait_until 20 inside_connect || fail "the connect is not under way"
"$CMSHIM" stat $pid --json >"$LAB_TMP/alive.json" || fail "no statistics of the live process"
[ "$(jq -c "[.alive, .pid, .program, .events.ADDR_RESOLVED, .phases.resolve_addr.count]" "$LAB_TMP/alive.json")" = "[true,$pid,\"hang\",1,1]" ] ||
    fail "not as expected: $(jq -c . "$LAB_TMP/alive.json")"
"$CMSHIM" stat --all >"$LAB_TMP/all" || fail "no statistics of all"
expect "$LAB_TMP/all" "^hang $pid, alive, "
expect "$LAB_TMP/all" '^refused [0-9]+, dead, '
"$CMSHIM" events $pid >"$LAB_TMP/events.alive"
expect "$LAB_TMP/events.alive" 'rdma_connect: under way$'

# Killed: nothing is lost.
kill -KILL $pid
wait $pid 2>/dev/null
expect_status 137 $? "killed"
"$CMSHIM" events $pid >"$LAB_TMP/events.dead" || fail "no events of the dead process"
expect "$LAB_TMP/events.dead" "^hang $pid, dead, "
expect "$LAB_TMP/events.dead" '\+[0-9.]+ .?s  ADDR_RESOLVED$'
expect "$LAB_TMP/events.dead" 'rdma_connect: had not returned$'
"$CMSHIM" stat $pid --prometheus >"$LAB_TMP/dead.prom"
expect "$LAB_TMP/dead.prom" "^cmshim_process_alive\\{pid=\"$pid\",program=\"hang\"\\} 0\$"
expect "$LAB_TMP/dead.prom" '^cmshim_phase_seconds_count\{.*phase="resolve_route"\} 1$'
tail -n 1 "$LAB_TMP/dead.prom" | grep -qx '# EOF' || fail "no end mark"
"$CMSHIM" hist $pid resolve_addr >"$LAB_TMP/hist" || fail "no histogram"
expect "$LAB_TMP/hist" '^1 measured: '
"$CMSHIM" hist $pid resolve_addr --svg "$LAB_TMP/hist.svg" || fail "no picture"
python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$LAB_TMP/hist.svg" || fail "the picture is no XML"
# The report of the killed one says where it was.
wait_until 30 has "$LAB_TMP/report.killed" $'\n  more ' || fail "no report: $(cat "$LAB_TMP/report.killed")"
expect "$LAB_TMP/report.killed" "^cmshim report: hang, process $pid, ran "
expect "$LAB_TMP/report.killed" "^  connections 0 made, 0 failed, 0 open at the end, 1 connect without an answer\$"
expect "$LAB_TMP/report.killed" "^  ended       inside rdma_connect, peer $LAB_ADDR:$LAB_PORT\$"
rm -rf "$CMSHIM_STATS_DIR"
