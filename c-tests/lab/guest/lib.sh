# shellcheck shell=bash
# Helpers for the tests of the lab. A test sources this file as ". $LAB_LIB".
#
#   bare CMD...             run CMD without the library
#   preloaded CMD...        run CMD with the library preloaded
#   uncounted CMD...        preloaded, with statistics off
#   start bare|preloaded|uncounted CMD...   the same in the background; $! is the program itself
#   finish PID [SECONDS]    wait for a background program and give its exit status (124: still running)
#   wait_listen PORT [SECONDS]    wait until somebody listens on this RDMA CM port; fails the test otherwise
#   nap, wait_until, overdue, has, once_more    how tests wait and what they do again: include/patience.sh
#   $LAB_FIRST_PORT         the first of 150 RDMA CM ports that no other test uses
#   need CMD...             skip the test when a program is missing
#   skip REASON, fail MSG   end the test
#   expect FILE REGEX       the file has a line that matches (grep -E); expect_no FILE REGEX: it has none
#   expect_status WANT GOT  compare exit statuses
#   same A B [WHAT]         both files are equal, else a diff
#   scrub                   filter: takes out times, addresses, QP numbers, pids and speeds, to compare two runs
#   barrier POINT [SECONDS] (two guests) wait for the other side; fails the test when it does not come
#
# Each SECONDS is what it takes in an idle guest; the deadline grows with the guest's slowness (include/patience.sh). Wait for an
# outcome, never for a time, and compare no times: that is make bench's.
# Background programs are ended when the test ends.

set -u
unset LD_PRELOAD
export LAB_ADDR=${LAB_ADDR:-}

# shellcheck source=../../include/patience.sh
. "$LAB_DIR/../include/patience.sh"
# shellcheck source=barrier.sh
. "$LAB_DIR/guest/barrier.sh"

trap lab_cleanup EXIT

lab_cleanup() {
    local status=$? pids
    trap - EXIT
    pids=$(jobs -p)
    # shellcheck disable=SC2086 # a list of pids
    [ -z "$pids" ] || kill $pids 2>/dev/null
    exit "$status"
}

fail() {
    printf 'FAIL: %s\n' "$*"
    exit 1
}

skip() {
    printf 'skip: %s\n' "$*"
    exit 77
}

need() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || [ -x "$BIN/$program" ] || skip "$program is not there"
    done
}

# An external command costs about 0.1 s in an emulated guest: none here that bash itself can do.
bare() { "$@"; }

preloaded() { LD_PRELOAD=$CMSHIM_LIB "$@"; }

# Preloaded, with statistics off.
uncounted() { CMSHIM_STATS_ENABLE=false LD_PRELOAD=$CMSHIM_LIB "$@"; }

start() {
    local how=$1
    shift
    look_slowness
    case $how in
        bare) "$@" & ;;
        preloaded) LD_PRELOAD=$CMSHIM_LIB "$@" & ;;
        uncounted) CMSHIM_STATS_ENABLE=false LD_PRELOAD=$CMSHIM_LIB "$@" & ;;
        *) fail "start: '$how' is neither bare, preloaded nor uncounted" ;;
    esac
}

ended() { ! kill -0 "$1" 2>/dev/null; }

finish() {
    local pid=$1
    if ! wait_until "${2:-30}" ended "$pid"; then
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null
        return 124
    fi
    wait "$pid"
}

listens() { rdma resource show cm_id 2>/dev/null | grep -qE "state LISTEN .*src-addr [^ ]*:$1( |\$)"; }

wait_listen() {
    wait_until "${2:-20}" listens "$1" && return
    rdma resource show cm_id
    fail "nobody listens on port $1"
}

expect() {
    grep -qE -- "$2" "$1" && return 0
    printf -- '--- %s\n' "$1"
    tail -n 30 "$1"
    fail "no line of $1 matches: $2"
}

expect_no() {
    grep -E -- "$2" "$1" || return 0
    fail "the line above in $1 should not be there (matches: $2)"
}

expect_status() {
    [ "$1" = "$2" ] || fail "exit status is $2, expected $1${3:+ ($3)}"
}

same() {
    [ "$(<"$1")" = "$(<"$2")" ] && return 0
    diff -u "$1" "$2"
    fail "${3:-the two outputs} differ (see the lines above: - is ${1##*/}, + is ${2##*/})"
}

scrub() {
    sed -E \
        -e 's/0x[0-9a-fA-F]+/HEX/g' \
        -e 's/([0-9]{1,3}\.){3}[0-9]{1,3}/ADDR/g' \
        -e 's/([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}/ADDR6/g' \
        -e 's/\b(qpn|QPN|pid|PID|port|psn|PSN)([ :=]*)[0-9]+/\1\2N/g' \
        -e 's/[0-9]+\.[0-9]+/F/g' \
        -e 's/ +/ /g; s/ $//'
}

barrier() {
    barrier_of "$LAB_TEST" "$1" "${2:-60}" || fail "the other side did not come to '$1'"
}
