#!/bin/bash
# Two hundred short processes in a row: each comes, fails and goes as it does bare.
# limit: 240
FIRST_PORT=18660
. "$(dirname "$0")/../../../include/pair.sh"
scene_short() { run all bash -c 'for i in $(seq 200); do "$0"; echo "status $?"; done | sort | uniq -c' "$BIN/behaviour/refused"; }
pair short
shown all '200 client: RDMA_CM_EVENT_REJECTED 8'
shown all '200 status 0'
[ "$(jq -r .pid "$(log_of all)" 2>/dev/null | sort -u | wc -l)" = 200 ] || fault "not one line from each of 200 processes"
finish
