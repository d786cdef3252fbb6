#!/bin/bash
# Connections that fail at once: what the program sees is the same bare and preloaded, and each side's line names
# who refused, at which stage and with which code.
# limit: 300
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
conn=$BIN/connections

scene_no_listener() { run client "$conn/client" "$LAB_ADDR" $port; }
pair no_listener
shown client 'REJECTED 8'
line client peer-kernel connect 'REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID'
at_most client 1

# One server that answers one client.
serve() { # server's options…
    back server "$conn/server" "$LAB_ADDR" $port "$@"
    until_says server listening
}

scene_reject() { serve reject; run client "$conn/client" "$LAB_ADDR" $port; join server; }
pair reject
shown client 'REJECTED 28'
line client peer-program connect 'REJECTED 28, IB_CM_REJ_CONSUMER_DEFINED'
at_most client 1
line server this-process accept 'REJECTED 28' "select(.dst.host == \"$LAB_ADDR\")"

scene_reject_data() { serve reject data=busy-try-later; run client "$conn/client" "$LAB_ADDR" $port; join server; }
pair reject_data
shown client "private data 148 bytes 'busy-try-later'"
line client peer-program connect 'REJECTED 28' 'select(tostring | contains("busy-try-later"))'
line server this-process accept ''

scene_exit_pending() { serve exit; run client "$conn/client" "$LAB_ADDR" $port; join server; }
pair exit_pending
shown client 'REJECTED 28'
line client peer-program connect 'REJECTED 28'

scene_stale_busy() { serve accept n=1; run client "$conn/stale" "$LAB_ADDR" $port busy; stop server; }
pair stale_busy
shown client 'REJECTED 10'
line client peer-kernel connect 'REJECTED 10, IB_CM_REJ_STALE_CONN'

scene_stale_after() { serve accept n=2; run client "$conn/stale" "$LAB_ADDR" $port after; join server; }
pair stale_after CMSHIM_REASONS_SHORT_LIVED_MS=0
no_lines client
no_lines server

scene_no_arp() { run client "$conn/client" "${LAB_ADDR%.*}.98" $port timeout=1500; }
pair no_arp
shown client 'ADDR_ERROR -110'
line client network address 'ADDR_ERROR -110'

scene_no_route() { run client "$conn/client" 203.0.113.7 $port; }
pair no_route
shown client 'errno ENETUNREACH'
line client this-kernel address 'ENETUNREACH'

# What the sides receive of each other's private data: the whole field, whatever was sent.
scene_private_data() { serve accept data=hello; run client "$conn/client" "$LAB_ADDR" $port data=56 hold=1300; join server; }
pair private_data
shown server 'CONNECT_REQUEST private data 56 bytes'
shown client 'private data 196 bytes'
no_lines client
no_lines server

scene_data_too_long() { run client "$conn/client" "$LAB_ADDR" $port data=57; }
pair data_too_long
shown client 'rdma_connect errno EINVAL'
line client this-process connect 'EINVAL'
says client '\b56\b'

scene_leave() { serve leave; run client "$conn/client" "$LAB_ADDR" $port stay=1; join server; }
pair leave
shown client 'ESTABLISHED'
shown client 'DISCONNECTED 0'
line client peer-program established 'DISCONNECTED'

# The server has the request, the client gives up, and then the server answers.
too_late() { # MODE
    serve "$1" after="$LAB_TMP/$scene.$way.gone" delay=200
    back client "$conn/client" "$LAB_ADDR" $port until="$LAB_TMP/$scene.$way.asked"
    until_says server CONNECT_REQUEST
    : >"$LAB_TMP/$scene.$way.asked"
    join client
    : >"$LAB_TMP/$scene.$way.gone"
    join server
}
scene_late_accept() { too_late late; }
pair late_accept
shown server 'rdma_accept(id, &p) = -1, errno EINVAL'
line server peer-program accept 'EINVAL'
says server '[Ll]ate|gave up|gone'

# A QP cannot be created for a request that is gone either.
scene_late_qp() { too_late lateqp; }
pair late_qp
shown server 'cm_qp(id) = -1, errno EINVAL'
line server this-process qp 'EINVAL'

scene_late_reject() { too_late latereject; }
pair late_reject CMSHIM_LOG_LEVEL=info
shown server 'errno EINVAL'
says server '[Ll]ate|gave up|gone'

# Queued at the server and never read: an early warning, no event.
scene_never_read() {
    serve deaf
    back client "$conn/client" "$LAB_ADDR" $port until="$LAB_TMP/warned"
    until_says server 'a request waits'
    if [ "$way" = shim ]; then
        wait_until 20 has "$(log_of client)" NO_ANSWER_YET || fault "no early warning"
        : >"$LAB_TMP/warned"
    fi
    join client
    stop server
}
pair never_read CMSHIM_REASONS_EARLY_WARNING_MS=1000
shown client 'no event until now'
line client network connect 'NO_ANSWER_YET' 'select(.severity == "warn")'
at_most client 1

# Accepted, but late: connected, and named.
scene_slow() { serve accept delay=1500; run client "$conn/client" "$LAB_ADDR" $port; join server; }
pair slow CMSHIM_REASONS_SLOW_CONNECT_MS=500 CMSHIM_REASONS_SHORT_LIVED_MS=0
shown client 'ESTABLISHED 0'
line client network established 'SLOW_CONNECT'

scene_teardown() { run program "$conn/teardown"; }
pair teardown
no_lines program

scene_multicast() { run program "$conn/multicast"; }
pair multicast
shown program '= -1'
line program this-process multicast ''

finish
