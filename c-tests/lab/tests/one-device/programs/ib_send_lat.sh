#!/bin/bash
# ib_send_lat -R: perftest with connections by the CM.
# limit: 240
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
# -F: go on when it cannot measure the clock of an emulated CPU ("Correlation coefficient")
# Each run has its port: a client that comes before its server listens is refused, and crashes on its retry.
commands() {
    port=$((7220 + $1))
    server=(ib_send_lat -R -F -p "$port" -n 20 -s 64)
    client=(ib_send_lat -R -F -p "$port" -n 20 -s 64 "$LAB_ADDR")
}
tidy() { sed -E "/^Correlation coefficient/d; s/^( 64 +20 ).*/\1 NUMBERS/" | scrub; }
raced() { grep -q 'RDMA_CM_EVENT_REJECTED; error: 8' "$1.client.err"; }
twice
