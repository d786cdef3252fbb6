#!/bin/bash
# Thousands of connections (POOL_CONNECTIONS=20000 in a longer run): neither memory nor descriptors grow, and nearly all queue pairs come from the pool.
# limit: 300
# lane: pool-churn
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
export LAB_PORT=19490 CMSHIM_LOG_LEVEL=debug CMSHIM_LOG_FILE=$LAB_TMP/log
preloaded "$BIN/pool/churn" "${POOL_CONNECTIONS:-3000}" 0 >"$LAB_TMP/out" 2>&1
expect_status 0 $? "$(tail -n 3 "$LAB_TMP/out")"
cat "$LAB_TMP/out"
expect "$LAB_TMP/out" 'descriptors grew by 0$'
expect "$LAB_TMP/out" 'more than 1 MiB: 0'
grep 'pool:' "$LAB_TMP/log"
awk '/pool: hits/ { for (i = 1; i < NF; i++) if ($i == "hits") hits = $(i+1) + 0; else if ($i ~ /^(first|empty)$/) misses += $(i+1) }
    END { printf "hit rate %.2f %%\n", 100 * hits / (hits + misses); exit hits < 19 * misses }' "$LAB_TMP/log" ||
    fail "fewer than 95 % came from the pool"
