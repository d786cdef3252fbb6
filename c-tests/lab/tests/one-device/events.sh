#!/bin/bash
# Programs that wait for events in every way behave the same bare and preloaded, in every mode of event batching.
# limit: 500
# lane: events
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
# shellcheck source=../../../include/modes.sh
. "$(dirname "$0")/../../../include/modes.sh"

alike() { # NAME parts…
    eval "scene_$1() { run program $(printf '%q ' "$BIN/events/$1" "${@:2}"); }"
    modes "$1"
    shown program 'exit status 0'
}

for t in "wait poll select epoll edge" "wait_libevent level edge" edges truth "flags fcntl ioctl dup" copies \
    "order block nonblock" "migrate queued queued-nonblock requests requests-nonblock requests-unread requests-unread-nonblock unacked unacked-nonblock sync sync-nonblock same same-nonblock" \
    "listener 0 3 0-nonblock 3-nonblock 20-nonblock" "threads block poll" "cancelled wait poll epoll queue" "alarms restart norestart" \
    "closing wait poll epoll unread" "multicast block nonblock block-stale nonblock-stale" "datagram block nonblock" endpoints null_channel \
    "forked block nonblock" "batches block nonblock async" reuse writes raw "races block nonblock" \
    "late_flags full copy moved" "numbers bad-dup2 taken forked child ranges" "together flags calls stolen loop"; do
    # shellcheck disable=SC2086 # a name and its parts
    alike $t
done
finish
