#!/bin/bash
# One errno, several causes: each line names the cause that was made, and never its neighbour's.
# limit: 300
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
conn=$BIN/connections
all=(CMSHIM_REASONS_REPEAT_S=0 CMSHIM_LOG_LEVEL=info)

ip route add unreachable 203.0.113.128/25
ip addr add 198.51.100.1/32 dev lo

# The lines of the program, in the order of its causes: each expression is found in its line's summary, and in no other one
# of the same call and errno.
lines() { # expression…
    local expression at=0 summaries codes i
    mapfile -t summaries < <(jq -r 'select(.errno) | .summary' "$(log_of program)")
    mapfile -t codes < <(jq -r 'select(.errno) | .code' "$(log_of program)")
    [ ${#summaries[@]} = $# ] || fault "${#summaries[@]} lines in place of $#: $(printf '%s\n' "${summaries[@]}")"
    for expression; do
        for i in "${!summaries[@]}"; do
            [ "${codes[i]}" = "${codes[at]}" ] || [ "$i" = "$at" ] || continue
            if grep -qE -- "$expression" <<<"${summaries[i]}"; then
                [ "$i" = "$at" ] || [ "${summaries[i]}" = "${summaries[at]}" ] || fault "'$expression' also in: ${summaries[i]}"
            elif [ "$i" = "$at" ]; then
                fault "no '$expression' in: ${summaries[i]}"
            fi
        done
        at=$((at + 1))
    done
}

causes() { # errno: each call of this scene left it
    local out=$LAB_TMP/$scene.shim.program.out
    grep errno "$out" | grep -v "errno $1$" && fault "not all left $1"
}

scene_answer() { run program "$conn/causes" answer; }
pair answer "${all[@]}"
causes EINVAL
lines 'responder_resources 200' 'initiator_depth 200' 'no connect request .it is a listener' \
    'no connect request .it is connecting' 'accepted before' '200 bytes' 'an accept of this request failed before' 'rejected before' \
    'rejected before' 'no connect request .it is a listener' 'our accept came too late' 'our reject came too late'

scene_request() { run program "$conn/causes" request; }
pair request "${all[@]}"
causes EINVAL
lines 'max_send_sge 10000' 'has a queue pair already' 'responder_resources 200' '57 bytes' 'the id has a queue pair: librdmacm' \
    'its address is resolved, and its route is not' 'no answer to confirm: its address' 'not for datagrams' 'cannot join now: it is new' \
    'connecting already' 'it is a connect request'

scene_address() { run program "$conn/causes" address; }
pair address "${all[@]}"
lines 'is taken: another id of this host is bound to it' 'bound to the any-address' '203.0.113.9 is not an address of this host' \
    'IPv4 address in IPv6 form' '198.51.100.1 .it is on lo' 'fe80::1 has no scope' 'address family 1 ' 'it is bound' 'it is a listener' \
    'is taken: another id' '203.0.113.9 is not an address' 'different address families' 'address family 1 ' 'IPv4 address in IPv6 form' \
    'no route to that address'

scene_route() { run program "$conn/causes" route; }
pair route "${all[@]}"
lines 'no route to that address' 'a route of this host says' 'its route is resolved' 'its route is resolved' 'timeout of rdma_resolve_route is 0' \
    'its address is resolved, and its route is not'

scene_namespace() { run program "$conn/causes" namespace; }
pair namespace "${all[@]}"
causes EADDRNOTAVAIL
lines 'used up: all, 20000 to 20004,' 'port 20000 is taken' 'used up' 'used up'

scene_low() { run program setpriv --bounding-set=-net_bind_service "$conn/causes" low; }
pair low "${all[@]}"
causes EACCES
lines 'port 80 needs a right'

# The other user, too, writes into the log.
scene_stranger() {
    touch "$LAB_TMP/$scene.program.log"
    chmod a+rw "$LAB_TMP/$scene.program.log"
    run program "$conn/causes" stranger
}
pair stranger "${all[@]}"
lines 'address family 1 ' "the event channel is not this process's"

scene_endpoint() { run program "$conn/causes" endpoint; }
pair endpoint "${all[@]}"
lines '198.51.100.1 .it is on lo' '203.0.113.9 is not an address of this host' 'the way to that address'

# No descriptor is left for the log file, either: the line comes to stderr.
scene=files way=shim settings=("${all[@]}" CMSHIM_STATS_ENABLE=false)
run program "$conn/causes" files
for text in 'no descriptor is left: -1, errno ENODEV' '"errno":19,"summary":"this process is out of file descriptors'; do
    has "$(out_of program)" "$text" || fault "no '$text': $(<"$(out_of program)")"
done

finish
