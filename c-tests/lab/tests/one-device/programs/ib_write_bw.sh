#!/bin/bash
# ib_write_bw -R: RDMA writes.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
# -F: go on when it cannot measure the clock of an emulated CPU ("Correlation coefficient")
# Each run has its port: right after a run, the lab may take the old listener for the new one.
commands() {
    port=$((7230 + $1))
    server=(ib_write_bw -R -F -p "$port" -n 20 -s 4096)
    client=(ib_write_bw -R -F -p "$port" -n 20 -s 4096 "$LAB_ADDR")
}
tidy() { sed -E "/^Correlation coefficient/d; s/^( 4096 +20 ).*/\1 NUMBERS/" | scrub; }
twice
