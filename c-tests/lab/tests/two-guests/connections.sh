#!/bin/bash
# Two kernels: guest a serves, guest b connects. Each side's line names the other, and a network that swallows
# everything is told apart from a peer that answers.
# limit: 200
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
# shellcheck source=../../../include/pair.sh
. "$LAB_DIR/../include/pair.sh"
conn=$BIN/connections
side=$1

# The server on a, the client on b, at the same time.
both() { # MODE client's options…
    local mode=$1; shift
    if [ "$side" = a ]; then
        back server "$conn/server" "$LAB_ADDR" $port "$mode"
        until_says server listening
        barrier "$scene-$way-up"
        join server
    else
        barrier "$scene-$way-up"
        run client "$conn/client" "$LAB_PEER" $port "$@"
    fi
}

scene_reject() { both reject; }
pair_apart reject
if [ "$side" = a ]; then
    line server this-process accept 'REJECTED 28' "select(.dst.host == \"$LAB_PEER\" and .src.host == \"$LAB_ADDR\")"
else
    shown client 'REJECTED 28'
    line client peer-program connect 'REJECTED 28' "select(.dst.host == \"$LAB_PEER\" and .src.host == \"$LAB_ADDR\")"
fi

scene_leave() { both leave stay=1; }
pair_apart leave
if [ "$side" = b ]; then
    shown client 'DISCONNECTED 0'
    line client peer-program established 'DISCONNECTED'
fi

scene_no_listener() { [ "$side" = a ] || run client "$conn/client" "$LAB_PEER" $port; }
# The neighbour is known, but nothing leaves this host: the early warning, and no event.
scene_swallowed() {
    back client "$conn/client" "$LAB_PEER" $port until="$LAB_TMP/warned"
    if [ "$way" = shim ]; then
        wait_until 20 has "$(log_of client)" NO_ANSWER_YET || fault "no early warning"
        : >"$LAB_TMP/warned"
    fi
    join client
}
if [ "$side" = b ]; then
    pair no_listener
    shown client 'REJECTED 8'
    line client peer-kernel connect 'REJECTED 8' "select(.dst.host == \"$LAB_PEER\")"
    ip neigh replace "$LAB_PEER" dev "$LAB_NETDEV" lladdr "$(ip neigh show "$LAB_PEER" | grep -oE '([0-9a-f]{2}:){5}[0-9a-f]{2}')" nud permanent
    tc qdisc add dev "$LAB_NETDEV" root netem loss 100%
    pair swallowed CMSHIM_REASONS_EARLY_WARNING_MS=1500
    tc qdisc del dev "$LAB_NETDEV" root
    ip neigh del "$LAB_PEER" dev "$LAB_NETDEV"
    shown client 'no event until now'
    line client network connect 'NO_ANSWER_YET' "select(.dst.host == \"$LAB_PEER\")"
fi
barrier end
finish
