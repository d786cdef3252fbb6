#!/bin/bash
# Forty short processes in a row: each comes, fails and goes as it does bare (of which a few are enough).
# limit: 200
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
# Two rows of them beside each other.
scene_short() {
    local n=3
    [ "$way" = bare ] || n=20
    run all bash -c 'for row in 1 2; do
            for ((i = 0; i < $2; i++)); do "$0"; echo "status $?"; done >"$1.$row" &
        done
        wait
        sort -u "$1.1" "$1.2"' "$BIN/behaviour/refused" "$LAB_TMP/$way.each" $n
}
pair short
shown all 'client: RDMA_CM_EVENT_REJECTED 8'
[ "$(cat "$LAB_TMP"/shim.each.* | grep -c 'client: RDMA_CM_EVENT_REJECTED 8')" = 40 ] || fault "not every process was refused"
[ "$(cat "$LAB_TMP"/shim.each.* | grep -c 'status 0')" = 40 ] || fault "not every process ended well"
[ "$(jq -r .pid "$(log_of all)" 2>/dev/null | sort -u | wc -l)" = 40 ] || fault "not one line from each of 40 processes"
finish
