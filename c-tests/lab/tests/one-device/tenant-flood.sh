#!/bin/bash
# A flood of requests that the policy refuses does not hold the thread that takes events: its calls come back, signals are
# taken, and another thread can destroy an id of the channel.
# limit: 100
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19880
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
printf 'default = "deny"\n' | policy "$here/policy"

LAB_PORT=$port "$BIN/tenant/flood" >"$LAB_TMP/bare" || fail "bare: $(<"$LAB_TMP/bare")"
expect "$LAB_TMP/bare" '^ended by SIGTERM, other outcomes than EAGAIN: 0$'
for way in "inline level" "inline edge" "off level"; do
    # shellcheck disable=SC2086 # two words
    set -- $way
    CMSHIM_TENANT_POLICY=$here/policy CMSHIM_EVENTS_MODE=$1 CMSHIM_LOG_FILE=$LAB_TMP/log LAB_PORT=$((++port)) \
        LD_PRELOAD=$CMSHIM_LIB:$BIN/tenant/flood_kernel.so "$BIN/tenant/flood" "$2" >"$LAB_TMP/$1-$2" 2>&1
    expect_status 0 $? "$way: $(<"$LAB_TMP/$1-$2")"
    same "$LAB_TMP/bare" "$LAB_TMP/$1-$2"
done
expect "$LAB_TMP/log" 'no tenant matches this connection'
