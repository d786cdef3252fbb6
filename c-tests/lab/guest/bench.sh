# shellcheck shell=bash
# The benchmark, inside the guest: bare and preloaded in turn, medians over the rounds. Sourced with guest/lib.sh.
# Only the ratios say something: an emulated guest is slow, and a round is compared with its neighbour.

rounds=${BENCH_ROUNDS:-5} connects=${BENCH_CONNECTS:-256} cycles=${BENCH_CYCLES:-100} starts=${BENCH_STARTS:-200} port=7800

churn() { # SERVER CLIENT   (each bare, preloaded or uncounted)
    local server
    port=$((port + 1))
    start "$1" "$BIN/bench/churn" server "$LAB_ADDR" "$port" "$cycles" >/dev/null
    server=$!
    wait_listen "$port"
    "$2" "$BIN/bench/churn" client "$LAB_ADDR" "$port" "$cycles" || fail "churn does not run $2"
    finish "$server" || fail "churn's server does not run $1"
}

startup() { # bare|preloaded PROGRAM ARGS...
    local how=$1 library=()
    shift
    [ "$how" = bare ] || library=(-p "$CMSHIM_LIB")
    "$BIN/bench/starts" "$starts" "${library[@]}" "$@" || fail "$1 does not start $how"
}

# One round of each kind, then the next: a slow minute of the machine hits all alike.
rounds_of() { # NAME BARE_COMMAND PRELOADED_COMMAND   (commands without quoting inside)
    local name=$1 bare_command=$2 preloaded_command=$3 i
    : >"$LAB_TMP/$name.bare"
    : >"$LAB_TMP/$name.preloaded"
    for ((i = 1; i <= rounds; i++)); do
        $bare_command >>"$LAB_TMP/$name.bare" || exit 1
        $preloaded_command >>"$LAB_TMP/$name.preloaded" || exit 1
    done
    report "$name"
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

report() { # NAME
    local name=$1
    awk -v name="${name//_/ }" -v bare="$(median "$LAB_TMP/$name.bare")" -v preloaded="$(median "$LAB_TMP/$name.preloaded")" \
        'BEGIN { printf "%-34s %10.0f us %10.0f us   ratio %.3f\n", name, bare, preloaded, preloaded / bare }'
}

# Connect requests to a server's event thread; one round of each in turn. What the columns mean: bench/events.c.
events() { # bare|preloaded burst|single CONNECTS
    port=$((port + 1))
    "$1" "$BIN/bench/events" "$2" "$LAB_ADDR" "$port" "$3" >>"$LAB_TMP/events.$2.$1" || fail "bench/events $2 does not run $1"
}

events_of() { # burst|single CONNECTS
    local i column name
    for ((i = 1; i <= rounds; i++)); do
        events bare "$@"
        events preloaded "$@"
    done
    column=0
    for name in "wall us" "context switches per connect" "request after us, p50" "request after us, p99" \
        "system calls per connect" "calls to take events, per event"; do
        column=$((column + 1))
        awk -v name="$1: $name" -v bare="$(column_median "$1.bare" $column)" -v preloaded="$(column_median "$1.preloaded" $column)" \
            'BEGIN { printf "%-46s %10.2f %10.2f   ratio %.3f\n", name, bare, preloaded, bare ? preloaded / bare : 0 }'
    done
}

column_median() { # WHICH COLUMN
    awk -v column="$2" '{ print $column }' "$LAB_TMP/events.$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# How far two rounds of the same kind are apart: a smaller difference between the kinds is none.
spread() { # NAME
    local kind
    for kind in bare preloaded; do
        sort -n "$LAB_TMP/$1.$kind" | awk -v name="${1//_/ }, ${kind/bare/off}" -v m="$(median "$LAB_TMP/$1.$kind")" \
            '{ v[NR] = $1 } END { sub("preloaded", "on", name); printf "    %s: from %.0f to %.0f us, %.1f %% of the median\n", name, v[1], v[NR], 100 * (v[NR] - v[1]) / m }'
    done
    paste "$LAB_TMP/$1.bare" "$LAB_TMP/$1.preloaded" |
        awk '{ slower += $2 > $1 } END { printf "    on was slower than off in %d of %d neighbouring rounds\n", slower, NR }'
}

echo "median of $rounds rounds; churn: $cycles connections a round, start-up: $starts starts a round"
printf '%-34s %13s %13s\n' '' bare preloaded
rounds_of churn_both_sides "churn bare bare" "churn preloaded preloaded"
rounds_of churn_client_only "churn bare bare" "churn bare preloaded"
# A small difference: it takes more rounds.
rounds=$((rounds * 5)) rounds_of churn_statistics_off_and_on "churn uncounted uncounted" "churn preloaded preloaded"
spread churn_statistics_off_and_on
rounds_of start-up_of_true "startup bare true" "startup preloaded true"
rounds_of start-up_of_rping "startup bare rping -?" "startup preloaded rping -?"
echo "a server's event thread (a non-blocking channel in an epoll loop), $connects connects at once, then one after another"
printf '%-46s %10s %10s\n' '' bare preloaded
events_of burst "$connects"
events_of single $((connects / 4))
# shellcheck source=bench-pool.sh
. "$LAB_DIR/guest/bench-pool.sh"
# shellcheck source=bench-tenants.sh
. "$LAB_DIR/guest/bench-tenants.sh"
