#!/bin/bash
# On iWARP a listen backlog is one of TCP's: it stays what the program asked for.
# limit: 60
FIRST_PORT=18800
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"

scene_small() {
    back server "$BIN/connections/server" "$LAB_ADDR" $port deaf backlog=7 life=600000
    until_says server listening
    run kernel ss -Hltn src "$LAB_ADDR" sport = ":$port"
    awk 'NF > 3 { $0 = "backlog " $3 } { print }' "$(out_of kernel)" >"$(out_of kernel).short"
    mv "$(out_of kernel).short" "$(out_of kernel)"
    stop server
}
pair small
shown kernel '^backlog 7$'
no_lines server
finish
