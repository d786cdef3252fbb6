#!/bin/bash
# ib_send_lat -R: perftest with connections by the CM.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
# -F: go on when it cannot measure the clock of an emulated CPU ("Correlation coefficient")
# Each run has its port: right after a run, the lab may take the old listener for the new one.
commands() {
    port=$((7220 + $1))
    server=(ib_send_lat -R -F -p "$port" -n 20 -s 64)
    client=(ib_send_lat -R -F -p "$port" -n 20 -s 64 "$LAB_ADDR")
}
tidy() { sed -E "/^Correlation coefficient/d; s/^( 64 +20 ).*/\1 NUMBERS/" | scrub; }
twice
