# shellcheck shell=bash
# The pool's part of the benchmark, inside the guest: p50 and p99 of rdma_create_qp and of a connect that includes it, both
# ends in one process; medians over the rounds, both ways in turn. Sourced with guest/lib.sh, by bench.sh or alone.

pool_port=8600
broken=() # promises that were not kept
promise() { # WHAT RATIO MOST
    awk -v got="$2" -v most="$3" 'BEGIN { exit got > most }' || broken+=("$1: $2, at most $3")
}
middle() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

pool_round() { # KIND LIBRARIES KEY=VALUE...
    local kind=$1 libraries=$2 pause=0 cycles=$((${BENCH_CYCLES:-100} * 4))
    shift 2
    pool_port=$((pool_port + 1))
    [ "$kind" != raw ] || pause=1000
    [ "$kind" != evict ] || pause=100000 cycles=10
    [ -z "${POOL_PAUSE:-}" ] || pause=$POOL_PAUSE cycles=${BENCH_CYCLES:-100}
    (
        export LAB_PORT=$pool_port CMSHIM_LOG_LEVEL=info CMSHIM_LOG_FILE=$LAB_TMP/pool.log "$@"
        LD_PRELOAD=$libraries "$BIN/pool/churn" "$kind" "$cycles" "$pause" times
    ) || fail "the pool's churn does not run"
}

pool_rounds() { # TITLE KIND SETTING_BEFORE LIBRARIES_BEFORE SETTING LIBRARIES
    local i
    : >"$LAB_TMP/before"
    : >"$LAB_TMP/after"
    : >"$LAB_TMP/pool.log"
    for ((i = 1; i <= ${BENCH_ROUNDS:-5}; i++)); do
        pool_round "$2" "$4" "$3" >>"$LAB_TMP/before"
        pool_round "$2" "$6" "$5" >>"$LAB_TMP/after"
    done
    local column=0 what ratio second=connect
    [ "$2" != evict ] || second=ibv_destroy_cq
    for what in "create p50" "create p99" "$second p50" "$second p99"; do
        column=$((column + 1))
        awk -v name="$1, $what" -v one="$(cut -d' ' -f$column "$LAB_TMP/before" | middle)" \
            -v two="$(cut -d' ' -f$column "$LAB_TMP/after" | middle)" \
            'BEGIN { printf "%-46s %8.0f us %8.0f us   ratio %.3f\n", name, one, two, two / one }' | tee "$LAB_TMP/row"
        ratio=$(sed 's/.* //' "$LAB_TMP/row")
        case "$2, $what, ${5%%:*}" in
        "raw, create p50, "*) promise "ibv_create_qp on a hit, share of one that is made" "$ratio" 0.05 ;;
        "shared, connect p50, INJECT=ibv_create_qp") promise "connect beside creations of 20 ms" "$ratio" 1.10 ;;
        esac
        [ "$2" = raw ] && [ "$column" = 2 ] && break
    done
    hit_rate "$1" "$2" "$LAB_TMP/pool.log"
}

# Over all rounds: hits, and misses where one could have been ready.
hit_rate() { # TITLE KIND LOG
    local rate
    rate=$(awk '/pool: hits/ { for (i = 1; i < NF; i++) if ($i == "hits") hits += $(i+1); else if ($i ~ /^(first|empty)$/) misses += $(i+1) }
        END { if (hits) printf "%.1f\n", 100 * hits / (hits + misses) }' "$3")
    [ -n "$rate" ] || return 0
    echo "    from the pool: $rate %"
    [ "$2" = evict ] || promise "$1: percent of misses in steady churn" "$(awk -v r="$rate" 'BEGIN { print 100 - r }')" 5
}

printf '%-46s %11s %11s\n' 'pool' bare preloaded
pool_rounds "ibv_create_qp alone" raw A=a "" A=a "$CMSHIM_LIB"
pool_rounds "one completion queue" shared A=a "" A=a "$CMSHIM_LIB"
pool_rounds "completion queues of each id" own A=a "" A=a "$CMSHIM_LIB"
pool_rounds "its queue is destroyed, 32 ready" evict A=a "" CMSHIM_POOL_WARM=32 "$CMSHIM_LIB"
inject=$BIN/behaviour/inject.so
printf '%-46s %11s %11s\n' 'creations of 20 ms (injected)' none injected
POOL_PAUSE=60000
pool_rounds "one completion queue" shared A=a "$CMSHIM_LIB $inject" INJECT=ibv_create_qp:0:sleep=20 "$CMSHIM_LIB $inject"
for broke in "${broken[@]}"; do echo "NOT KEPT: $broke"; done
