#!/bin/bash
# A real Prometheus server scrapes `cmshim export`: its own answers are equal to `cmshim stat --json`, and it has an answer
# to each query of the Grafana dashboard.
# limit: 150
# parallel
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
need python3 jq
[ -x "$PROMETHEUS/prometheus" ] || skip "no Prometheus: run tools/setup"
export CMSHIM_STATS_DIR=/run/cmshim-test-prometheus
port=${LAB_FIRST_PORT:-18700}
here=127.0.0.1:9464 server=127.0.0.1:9465 data=/run/cmshim-test-tsdb
rm -rf "$CMSHIM_STATS_DIR" $data
mkdir -p $data

# It starts slowly in an emulated guest, so it starts first; until there is something it finds the address closed.
cat >"$LAB_TMP/prometheus.yml" <<END
scrape_configs:
  - {job_name: cmshim, scrape_interval: 2s, scrape_timeout: 2s, static_configs: [{targets: ["$here"]}]}
END
"$PROMETHEUS/prometheus" --config.file="$LAB_TMP/prometheus.yml" --storage.tsdb.path=$data --web.listen-address=$server \
    >"$LAB_TMP/prometheus" 2>&1 &
server_pid=$!

# A process that ended well, one that was refused, and one that lives in the middle of a connect.
LAB_PORT=$port preloaded "$BIN/stats/timed" 5 >"$LAB_TMP/timed" || fail "timed: $(cat "$LAB_TMP/timed")"
CMSHIM_LOG_LEVEL=off LAB_PORT=$((port + 1)) preloaded "$BIN/behaviour/refused" >"$LAB_TMP/refused" 2>&1
CMSHIM_LOG_LEVEL=off LAB_PORT=$((port + 2)) start preloaded "$BIN/stats/hang" event >"$LAB_TMP/hang"
wait_until 30 has "$LAB_TMP/hang" connecting || fail "it does not connect"
"$CMSHIM" export --listen $here 2>"$LAB_TMP/export" &
export_pid=$!

# As Grafana would fill them in.
mapfile -t panels < <(jq -r '.panels[].targets[].expr' "$LAB_DIR/../../tools/grafana/cmshim.json" |
    sed 's/\$__rate_interval/1m/g; s/\$instance/.*/g; s/\$program/.*/g')
[ "${#panels[@]}" -gt 20 ] || fail "no queries in the dashboard"

python3 "$LAB_DIR/guest/prometheus.py" "http://$server" "$CMSHIM" \
    'up{job="cmshim"} == 1' \
    'sum(cmshim_connections_made_total) == 10' \
    'sum(cmshim_failures_total{code=~"REJECTED 8.*"}) == 1' \
    'sum(cmshim_process_alive) == 1' \
    'histogram_quantile(0.5, sum by (le) (cmshim_phase_seconds_bucket{phase="event_hold",program="timed"}))' \
    "${panels[@]}" \
    >"$LAB_TMP/compared" 2>&1 || fail "$(cat "$LAB_TMP/compared"; kill -0 $server_pid || tail -n 5 "$LAB_TMP/prometheus"; cat "$LAB_TMP/export")"
cat "$LAB_TMP/compared"
expect "$LAB_TMP/export" "^cmshim: serving http://$here/metrics\$"

kill -TERM $export_pid
finish $export_pid
expect_status 0 $? "export after SIGTERM"
kill -TERM $server_pid
wait $server_pid
rm -rf "$CMSHIM_STATS_DIR" $data
