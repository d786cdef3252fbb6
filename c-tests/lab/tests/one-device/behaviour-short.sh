#!/bin/bash
# Two hundred short processes in a row: each comes, fails and goes as it does bare (of which a few are enough).
# limit: 300
FIRST_PORT=18690
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
scene_short() {
    local n=5
    [ "$way" = bare ] || n=200
    run all bash -c 'for ((i = 0; i < $2; i++)); do "$0"; echo "status $?"; done >"$1"; sort -u "$1"' \
        "$BIN/behaviour/refused" "$LAB_TMP/$way.each" $n
}
pair short
shown all 'client: RDMA_CM_EVENT_REJECTED 8'
[ "$(grep -c 'client: RDMA_CM_EVENT_REJECTED 8' "$LAB_TMP/shim.each")" = 200 ] || fault "not every process was refused"
[ "$(grep -c 'status 0' "$LAB_TMP/shim.each")" = 200 ] || fault "not every process ended well"
[ "$(jq -r .pid "$(log_of all)" 2>/dev/null | sort -u | wc -l)" = 200 ] || fault "not one line from each of 200 processes"
finish
