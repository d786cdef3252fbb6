#!/bin/bash
# Connections over iWARP: what the program sees is the same bare and preloaded, and each side's line names who refused.
# There a reject is ECONNRESET, and a listener that is not there refuses inside rdma_connect already.
# limit: 200
FIRST_PORT=18700
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
conn=$BIN/connections

serve() { # server's options…
    back server "$conn/server" "$LAB_ADDR" $port "$@"
    until_says server listening
}

scene_connect() { serve accept; run client "$conn/client" "$LAB_ADDR" $port hold=300; join server; }
pair connect CMSHIM_REASONS_SHORT_LIVED_MS=0
shown client 'ESTABLISHED 0'
shown client 'DISCONNECTED 0'
no_lines client
no_lines server

scene_no_listener() { run client "$conn/client" "$LAB_ADDR" $port; }
pair no_listener
shown client 'rdma_connect errno ECONNREFUSED'
line client peer-kernel connect 'ECONNREFUSED'
says client 'iWARP|nobody listens'
at_most client 1

scene_reject() { serve reject; run client "$conn/client" "$LAB_ADDR" $port; join server; }
pair reject
shown client 'REJECTED -104'
line client peer-program connect 'REJECTED -104'
at_most client 1
line server this-process accept 'REJECTED'

scene_reject_data() { serve reject data=busy-try-later; run client "$conn/client" "$LAB_ADDR" $port; join server; }
pair reject_data
shown client "'busy-try-later'"
line client peer-program connect 'REJECTED -104' 'select(tostring | contains("busy-try-later"))'

# It has no limit of 56 bytes.
scene_private_data() { serve accept data=hello; run client "$conn/client" "$LAB_ADDR" $port data=100 hold=1300; join server; }
pair private_data
shown server 'CONNECT_REQUEST private data 100 bytes'
shown client "'hello'"
no_lines client
no_lines server

scene_leave() { serve leave; run client "$conn/client" "$LAB_ADDR" $port stay=1; join server; }
pair leave CMSHIM_REASONS_SHORT_LIVED_MS=600000 CMSHIM_LOG_LEVEL=info # whether data was sent is not known there
shown client 'ESTABLISHED'
line client peer-program established 'DISCONNECTED'

scene_no_arp() { run client "$conn/client" "${LAB_ADDR%.*}.98" $port timeout=1500; }
pair no_arp
shown client 'ADDR_ERROR -110'
line client network address 'ADDR_ERROR -110'
finish
