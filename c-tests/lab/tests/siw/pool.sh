#!/bin/bash
# The pool over iWARP: programs that create queue pairs again and again see the same bare and preloaded, and the pool was there.
# limit: 200
# lane: pool
FIRST_PORT=19300
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
export CMSHIM_POOL_IDLE_S=600
pool=$BIN/pool

alike() { # NAME command…
    local name=$1; shift
    eval "scene_$name() { run program $(printf '%q ' "$@"); }"
    pair "$name" CMSHIM_LOG_LEVEL=debug
    shown program 'exit status 0'
    says program 'pool: hits [1-9]'
}

# Not those that move queue pairs to RTS themselves: iWARP has no such way.
for kind in shared two-cqs caps; do alike "shape_$kind" "$pool/shapes" $kind; done
alike orders_id "$pool/orders_id"
alike threads "$pool/threads"
finish
