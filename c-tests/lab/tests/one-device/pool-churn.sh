#!/bin/bash
# Thousands of connections (POOL_CONNECTIONS=20000 in a longer run): neither memory nor descriptors grow, and queue pairs come
# from the pool. How many do is make bench's.
# limit: 300
# lane: pool-churn
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
export LAB_PORT=${LAB_FIRST_PORT:-18700} CMSHIM_LOG_LEVEL=info
for kind in shared own; do
    export CMSHIM_LOG_FILE=$LAB_TMP/log.$kind
    LAB_PORT=$((LAB_PORT + 1))
    preloaded "$BIN/pool/churn" "$kind" "${POOL_CONNECTIONS:-1000}" 0 >"$LAB_TMP/out.$kind" 2>&1
    expect_status 0 $? "$(tail -n 3 "$LAB_TMP/out.$kind")"
    cat "$LAB_TMP/out.$kind"
    # Bundles lie ready with two descriptors each, up to pool.max of them.
    # A line of the log is written through a descriptor that is open for the moment.
    most=2
    [ "$kind" != own ] || most=64
    awk -v most=$most '/descriptors grew by/ { exit !($4 <= most) }' "$LAB_TMP/out.$kind" || fail "descriptors grew"
    expect "$LAB_TMP/out.$kind" 'more than 1 MiB: 0'
    grep 'pool:' "$CMSHIM_LOG_FILE"
    expect "$CMSHIM_LOG_FILE" 'pool: hits [1-9]'
done
