#!/bin/bash
# A policy is never half in force, and never frozen: a file that is being written is left alone, and where no thread can
# be started the program's own threads look at it.
# limit: 200
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19860
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
export LAB_PORT

# Server and clients in one process: alone NAME SETTING… -- STEP…
alone() {
    local name=$1 kept=()
    shift
    while [ "$1" != -- ]; do kept+=("$1"); shift; done
    shift
    LAB_PORT=$port
    (
        export "${kept[@]}" CMSHIM_LOG_FILE="$LAB_TMP/$name.log" LD_PRELOAD=$CMSHIM_LIB${beneath:+:$beneath}
        export CMSHIM_TENANT_POLICY=$here/$name
        exec "$BIN/tenant/alone" "$here/$name" "$@"
    ) >"$LAB_TMP/$name.out" 2>&1
    expect_status 0 $? "$name: $(<"$LAB_TMP/$name.out")"
}
expected() { # NAME LINE…
    local name=$1
    shift
    equal "$name" "$(printf '%s\n' "$@")" "$(<"$LAB_TMP/$name.out")"
}
first() { printf 'default = "%s"\n' "$2" | policy "$here/$1"; }

for mode in auto inline off; do
    port=$((port + 1))
    first "half-$mode" deny
    alone "half-$mode" CMSHIM_EVENTS_MODE=$mode -- refused \
        write='version = 1|default = "deny"|[[tenant]]|name = "a"|' dribble=3000 always=refused:2500 wait=1000 \
        write='version = 1|default = "allow"|' accepted &
done
wait
for mode in auto inline off; do expected "half-$mode" refused 'refused: always' accepted; done

# The keeper cannot be started once, and then; or not for a while, and no aggregator either.
beneath=$BIN/tenant/no_threads.so
for mode in auto thread inline off; do
    port=$((port + 1))
    for number in 1 3; do
        name=threads-$mode-$number
        first "$name" allow
        alone "$name" CMSHIM_EVENTS_MODE=$mode NO_THREADS=$number -- accepted put='version = 1|default = "deny"|' refused \
            put='version = 1|default = "allow"|' accepted
        expected "$name" accepted refused accepted
        says "$name" 'cannot start a thread .*: early warnings'
    done &
done
wait
