#!/bin/bash
# The scripts of tools/bpftrace: the library's probes and the kernel's tracepoints, counted by bpftrace, agree with the program.
# limit: 240
# lane: stats
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
need bpftrace
port=19900
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
export LAB_PORT=${LAB_FIRST_PORT:-18700}
scripts=$LAB_DIR/../../tools/bpftrace
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing || skip "no tracefs"
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug || skip "no debugfs"
modprobe rdma_cm

# bpftrace runs BEGIN first and then attaches one probe after another, which takes seconds on a busy machine: all are
# there when a whole connection of another program has been seen, or when it opens no more of them.
attached() { # NAME
    local now=0
    if [ "$1" = connections ]; then
        cp "$BIN/stats/timed" "$LAB_TMP/warm-up"
        wait_until 60 warm_up_is_seen || fail "bpftrace does not see a connection"
    fi
    wait_until 120 no_more_probes || fail "bpftrace has no probes, or never ends to attach: $now"
}

warm_up_is_seen() {
    preloaded "$LAB_TMP/warm-up" 1 >/dev/null || fail "the warm-up does not run"
    grep -q 'warm-up .* established after' "$LAB_TMP/connections"
}

no_more_probes() {
    local before=$now
    slow_nap 2
    now=$(find /proc/"$tracer"/fd -lname '*perf_event*' | wc -l)
    [ "$now" != 0 ] && [ "$now" = "$before" ]
}

# As many seconds as this guest needs for what an idle one does in so many.
slow_nap() {
    look_slowness
    nap $(($1 * LAB_SLOWNESS / 100))
}

# Two servers refuse a connect over IPv6: the program itself, and a policy.
refusals() {
    cp "$BIN/tenant/client" "$LAB_TMP/six"
    settings=(A=a)
    serve rejects block then=reject at="fd77::1,$port" quiet=1
    settings=(CMSHIM_TENANT_POLICY="$here/policy")
    serve denies block at="fd77::1,$((port + 1))" quiet=1
    await rejects denies
    preloaded "$LAB_TMP/six" to=fd77::1 port=$port try port=$((port + 1)) try >"$LAB_TMP/six.out" 2>&1
    ends rejects
    ends denies
}

# Other tests run the same programs meanwhile: these have names of their own.
cp "$BIN/stats/timed" "$LAB_TMP/bt-timed"
cp "$BIN/behaviour/refused" "$LAB_TMP/bt-refused"

traced() { # NAME ARGS...   the script runs around one program with 5 connections and one that is refused
    local name=$1 tracer
    shift
    bpftrace "$scripts/$name.bt" "$@" >"$LAB_TMP/$name" 2>"$LAB_TMP/$name.err" &
    tracer=$!
    begins() {
        kill -0 $tracer 2>/dev/null || fail "bpftrace ended: $(cat "$LAB_TMP/$name.err")"
        [ -s "$LAB_TMP/$name" ]
    }
    wait_until 90 begins || fail "bpftrace does not begin"
    echo "$name: bpftrace is there after $SECONDS s"
    attached "$name"
    echo "$name: its probes are there after $SECONDS s"
    preloaded "$LAB_TMP/bt-timed" 5 >"$LAB_TMP/$name.said" || fail "timed: $(cat "$LAB_TMP/$name.said")"
    preloaded "$LAB_TMP/bt-refused" >/dev/null 2>&1
    [ "$name" != connections ] || refusals
    slow_nap 1
    kill -INT $tracer
    wait $tracer
}

addresses
policy "$here/policy" <<<'default = "deny"'
traced connections "$CMSHIM_LIB"
expect "$LAB_TMP/connections" "connect $LAB_ADDR:$LAB_PORT\$"
expect "$LAB_TMP/connections" 'established after [0-9]+ us$'
expect "$LAB_TMP/connections" 'failed: event 8, status 8 '
expect "$LAB_TMP/connections" '^@connects\[bt-timed\]: 5$'
expect "$LAB_TMP/connections" '^@connects\[bt-refused\]: 1$'
expect "$LAB_TMP/connections" '^@failed\[bt-refused, 8, 8\]: 1$'
for event in 0 2 4; do expect "$LAB_TMP/connections" "^@events\[bt-timed, $event\]: 5\$"; done
for event in 9 10; do expect "$LAB_TMP/connections" "^@events\[bt-timed, $event\]: 10\$"; done
expect "$LAB_TMP/connections" '^[0-9:]+ +six .*connect to an IPv6 address, port 19900$'
expect "$LAB_TMP/connections" '^@refused\[server, 0\]: [1-9]'
# The policy refuses in a thread of the library.
expect "$LAB_TMP/connections" "^[0-9:]+ +cmshim-events +${server_of[denies]} +refuses a request: tenant check, reason 1 "
expect "$LAB_TMP/connections" '^@refused\[cmshim-events, 1\]: '
# Ten queue pairs, the first of each kind made for the program.
for how in hit miss; do expect "$LAB_TMP/connections" "^@pool\[bt-timed, $how\]: [1-9]\$"; done

traced kernel-events
for event in 0 2 4 5 8 9 10; do expect "$LAB_TMP/kernel-events" "^@handler_us\[$event\]:"; done
expect "$LAB_TMP/kernel-events" '^@answer_us\[5\]:'
expect "$LAB_TMP/kernel-events" '^@answer_us\[8\]:'
expect "$LAB_TMP/kernel-events" '^@accepted_us:'
expect "$LAB_TMP/kernel-events" '^@disconnect_us:'
