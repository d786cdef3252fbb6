#!/bin/bash
# `cmshim top` while a client connects and disconnects all the time: once, table after table, and on a terminal.
# limit: 150
# lane: stats
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
need jq python3 bench/churn
export CMSHIM_STATS_DIR=/run/cmshim-test-top
port=${LAB_FIRST_PORT:-18700}
rm -rf "$CMSHIM_STATS_DIR"
"$CMSHIM" top --once >"$LAB_TMP/none"
expect_status 1 $? "nothing there"

start preloaded "$BIN/bench/churn" server "$LAB_ADDR" $port 1000000 >"$LAB_TMP/server" 2>&1
server=$!
wait_listen $port
start preloaded "$BIN/bench/churn" client "$LAB_ADDR" $port 1000000 >"$LAB_TMP/client" 2>&1
client=$!
made() { "$CMSHIM" stat "$1" --json 2>/dev/null | jq '.counters.connections_made'; }
at_work() { [ "$(made $client)" -gt 20 ] 2>/dev/null; }
wait_until 20 at_work || fail "the client makes no connections: $(cat "$LAB_TMP/client")"

"$CMSHIM" top --once --sort pid >"$LAB_TMP/once" || fail "top --once: $(cat "$LAB_TMP/once")"
cat "$LAB_TMP/once"
expect "$LAB_TMP/once" ': 2 live processes$'
expect "$LAB_TMP/once" "^ +$server churn +[01] +[0-9.]+ +[0-9]+ +0 +0 "
expect "$LAB_TMP/once" "^ +$client churn +[01] +[0-9.]+ +[0-9]+ +0 +0 +[0-9]+% .* [0-9.]+ .?s +[0-9.]+ .?s\$"

# Rates: in each table but the first, something came since the table before. (That a rate is right, unit tests say.)
"$CMSHIM" top --interval 1 --sort rate >"$LAB_TMP/tables" &
top=$!
four_tables() { [ "$(grep -c 'live processes' "$LAB_TMP/tables")" -ge 4 ]; }
wait_until 30 four_tables || fail "no table after table: $(cat "$LAB_TMP/tables")"
kill $top
awk -v pid=$client '$1 == pid && n++ > 0 { sum += $4; rates = rates " " $4 }
    END { print "rates in the tables:" rates; exit !(n > 2 && sum > 0) }' "$LAB_TMP/tables" || fail "no rate is shown"

# On a terminal: sorted, one process shown whole, back, stopped, ended.
python3 "$LAB_DIR/guest/top.py" "$LAB_TMP/drawn" "$CMSHIM" top --interval 0.5 --sort open >"$LAB_TMP/terminal" ||
    fail "on a terminal: $(cat "$LAB_TMP/terminal")"
expect "$LAB_TMP/terminal" '^ended 0, the terminal as before: True$'

"$CMSHIM" stat $client --json >"$LAB_TMP/client.json"
"$CMSHIM" hist $client connect >"$LAB_TMP/hist"
"$CMSHIM" stat $server --json >"$LAB_TMP/server.json"
kill -KILL $client
wait $client 2>/dev/null
"$CMSHIM" top --once >"$LAB_TMP/one" || fail "top --once: $(cat "$LAB_TMP/one"); the server: $(cat "$LAB_TMP/server")"
expect "$LAB_TMP/one" ': 1 live process$'
expect_no "$LAB_TMP/one" "^ *$client "
kill -KILL $server
wait $server 2>/dev/null
rm -rf "$CMSHIM_STATS_DIR"
