#!/bin/bash
# Under a policy that lets all in, programs behave as bare, at both barriers.
# limit: 200
# lane: programs
MODES=${MODES:-auto off} # auto is thread where there is a policy
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
# shellcheck source=../../../include/modes.sh
. "$(dirname "$0")/../../../include/modes.sh"

printf 'version = 1\ndefault = "allow"\ntenant = [{ name = "all", max_connections = 1000, rate = 100000.0, burst = 1000 }]\n' >"$LAB_TMP/policy"
with=(CMSHIM_TENANT_POLICY="$LAB_TMP/policy" CMSHIM_TENANT_DIR=/run)
alike() { # NAME parts…
    eval "scene_$1() { run program $(printf '%q ' "$BIN/events/$1" "${@:2}"); }"
    modes "$1" "${with[@]}"
    shown program 'exit status 0'
}
alike wait poll epoll edge
alike migrate requests requests-nonblock sync
alike endpoints

conn=$BIN/connections
serve() { # server's options…
    back server "$conn/server" "$LAB_ADDR" $port "$@"
    until_says server listening
}
scene_private_data() { serve accept data=hello n=3; run client "$conn/client" "$LAB_ADDR" $port data=56 hold=10 n=3; join server; }
pair private_data "${with[@]}"
shown server 'CONNECT_REQUEST private data 56 bytes'
scene_exit_pending() { serve exit; run client "$conn/client" "$LAB_ADDR" $port; join server; }
pair exit_pending "${with[@]}"
finish
