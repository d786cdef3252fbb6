# shellcheck shell=bash
# The benchmark, inside the guest: bare and preloaded in turn, medians over the rounds. Sourced with guest/lib.sh.
# Only the ratios say something: an emulated guest is slow, and a round is compared with its neighbour.

rounds=${BENCH_ROUNDS:-5} connects=${BENCH_CONNECTS:-256} cycles=${BENCH_CYCLES:-100} starts=${BENCH_STARTS:-200} port=7800

# Connects that nobody listens for: microseconds of one, in the mean of a round.
refused() { # bare|preloaded SETTING
    local begin=${EPOCHREALTIME/./}
    (
        export CMSHIM_LOG_FILE=$LAB_TMP/refused.log "${2?}"
        "$1" "$BIN/connections/client" "$LAB_ADDR" 17777 n="$cycles" quiet=1 >/dev/null
    ) || fail "the client does not run $1"
    echo $(((${EPOCHREALTIME/./} - begin) / cycles))
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

# Two pairs of server and client make connections, one each in turn (bench/churn.c): what makes the machine slow for
# longer than one hits both alike.
in_turn() { # NAME FIRST SECOND CONNECTIONS   (each SERVER+CLIENT: bare, preloaded or uncounted)
    local name=$LAB_TMP/$1 how clients=() servers=() fifos=(/run/first.turn /run/second.turn) i=0
    [ -p "${fifos[0]}" ] || mkfifo "${fifos[@]}" || exit 1
    for how in "$2" "$3"; do
        port=$((port + 1))
        start "${how%+*}" "$BIN/bench/churn" server "$LAB_ADDR" "$port" "$4" >/dev/null
        servers+=($!)
        wait_listen "$port"
        start "${how#*+}" "$BIN/bench/churn" client "$LAB_ADDR" "$port" "$4" "${fifos[i]}" "${fifos[1 - i]}" >"$name.$i"
        clients+=($!)
        i=$((i + 1))
    done
    exec 8<>"${fifos[0]}"
    printf x >&8 # the first turn
    for i in 0 1; do
        finish "${clients[i]}" 300 || fail "churn does not run in turn ($1)"
        finish "${servers[i]}" || fail "churn's server does not end"
    done
    read -rN1 -u8 # the last turn, which nobody took
    exec 8>&-
    paste "$name.0" "$name.1" | awk '{ printf "%.6f %d\n", $2 / $1, ($2 > $1) }' | sort -n | awk -v name="${1//_/ }" \
        -v first="$(median "$name.0")" -v second="$(median "$name.1")" '{ ratio[NR] = $1; slower += $2 } END {
            printf "%-34s %10.0f us %10.0f us   ratio of neighbours %.3f (half of them %.2f to %.2f; slower in %d of %d)\n",
                name, first, second, ratio[int((NR + 1) / 2)], ratio[int((NR + 3) / 4)], ratio[int((3 * NR + 3) / 4)], slower, NR }'
}

turns=$((cycles * rounds))
echo "churn: $turns connections in turn; start-up: median of $rounds rounds of $starts starts"
printf '%-34s %13s %13s\n' '' bare preloaded
in_turn churn_both_sides bare+bare preloaded+preloaded $turns
in_turn churn_client_only bare+bare bare+preloaded $turns
# A small difference: more of them, both ways round, beside what two that are alike differ by.
in_turn statistics_off_and_off uncounted+uncounted uncounted+uncounted $((2 * turns))
in_turn statistics_off_and_on uncounted+uncounted preloaded+preloaded $((2 * turns))
in_turn statistics_on_and_off preloaded+preloaded uncounted+uncounted $((2 * turns))
rounds_of refused,_lines_folded "refused bare A=a" "refused preloaded A=a"
rounds_of refused,_a_line_each "refused bare A=a" "refused preloaded CMSHIM_REASONS_REPEAT_S=0"
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
[ "${#broken[@]}" = 0 ]
