#!/bin/bash
# Programs that wait for events behave the same bare and preloaded over iWARP, in every mode of event batching.
# limit: 200
# lane: events
FIRST_PORT=19000
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
# shellcheck source=../../../include/modes.sh
. "$(dirname "$0")/../../../include/modes.sh"

alike() { # NAME parts…
    eval "scene_$1() { run program $(printf '%q ' "$BIN/events/$1" "${@:2}"); }"
    modes "$1"
    shown program 'exit status 0'
}

for t in "wait poll select epoll edge" "order block nonblock" "listener 0 3-nonblock" "closing wait epoll unread" \
    "batches block nonblock" endpoints; do
    # shellcheck disable=SC2086 # a name and its parts
    alike $t
done

# A crowd: fewer system calls than events.
scene=crowd way=shim settings=(A=a)
LAB_PORT=$((port + 1)) run program "$BIN/events/counter" 64
cat "$(out_of program)"
read -r events fetches < <(sed -nE 's/^burst events=([0-9]+) fetches=([0-9]+) .*/\1 \2/p' "$(out_of program)")
[ "${events:-0}" -ge 180 ] || fault "a crowd of 64 gave ${events:-no} events"
[ "${fetches:-999}" -lt "${events:-0}" ] || fault "$fetches system calls for $events events"
finish
