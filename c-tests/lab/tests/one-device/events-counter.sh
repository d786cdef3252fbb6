#!/bin/bash
# How many system calls a server's event thread makes for each event, bare and preloaded, by the kernel's own count.
# limit: 200
# lane: events
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"

DEMANDS=${DEMANDS:-on} # off: only shown
MODES=${MODES:-auto}

value() { # MODE part KEY: a count of that part
    sed -nE "s/^$2 .*\b$3=([0-9]+).*/\1/p" "$LAB_TMP/$1.counts"
}

per_event() { # MODE part KEY…: hundredths of a system call for each event
    local mode=$1 part=$2 key sum=0
    shift 2
    for key in "$@"; do sum=$((sum + $(value "$mode" "$part" "$key"))); done
    echo $((100 * sum / $(value "$mode" "$part" events)))
}

count() { # MODE
    scene=$1
    way=bare settings=()
    [ "$1" = bare ] || way=shim settings=(CMSHIM_EVENTS_MODE="$1")
    port=$((port + 1))
    LAB_PORT=$port run program "$BIN/events/counter" 256
    mv "$(out_of program)" "$LAB_TMP/$1.counts"
    echo "--- $1"
    cat "$LAB_TMP/$1.counts"
    grep -qx 'exit status 0' "$LAB_TMP/$1.counts" || { fault "the counter did not end well"; return 1; }
    # On a busy machine a disconnect may overtake what tells the server that its connection stands.
    [ "$(value "$1" burst events)" -ge 760 ] || fault "burst: $(value "$1" burst events) events, expected 768"
    [ "$(value "$1" idle events)" -ge 59 ] || fault "idle: $(value "$1" idle events) events, expected 60"
    [ "$(value "$1" block events)" -ge 59 ] || fault "block: $(value "$1" block events) events, expected 60"
}

at_most_hundredths() { # what LIMIT GOT
    echo "$scene: $1: $3 hundredths of a system call for each event, at most $2"
    [ "$DEMANDS" != on ] || [ "$3" -le "$2" ] || fault "$1: $3 hundredths, at most $2 are allowed"
}

count bare || finish
[ "$(per_event bare burst fetches)" -ge 100 ] || fault "bare burst: less than one system call for each event"
[ "$(per_event bare block fetches)" = 100 ] || fault "bare, blocking: not one system call for each event"
for mode in $MODES; do
    count "$mode" || continue
    at_most_hundredths "burst" 25 "$(per_event "$mode" burst fetches)"
    at_most_hundredths "idle" $(($(per_event bare idle fetches epoll_wait) + 100)) "$(per_event "$mode" idle fetches epoll_wait)"
    at_most_hundredths "blocking" "$(per_event bare block fetches)" "$(per_event "$mode" block fetches)"
done
finish
