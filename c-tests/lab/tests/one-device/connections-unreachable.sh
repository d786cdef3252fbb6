#!/bin/bash
# Peers that never answer: UNREACHABLE -110 after 102 s, the early warning long before.
# limit: 300
# parallel
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
conn=$BIN/connections

# A host without RDMA that answers ARP: the far end of a veth in a namespace of its own.
ip netns add mute
ip link add mu0 type veth peer name mu1 netns mute
ip addr add 10.78.0.1/24 dev mu0
ip link set mu0 up
ip -n mute addr add 10.78.0.2/24 dev mu1
ip -n mute link set mu1 up
rdma link add rxe_mu type rxe netdev mu0

# All waits run at the same time, in both ways: each has its own port and its own files.
settings=(CMSHIM_REASONS_EARLY_WARNING_MS=2000 CMSHIM_LISTEN_MIN_BACKLOG=0)
for way in bare shim; do
    scene=no_responder
    back client "$conn/client" 10.78.0.2 $((port + 10))
    waits+=("${pids[client]}")
    scene=backlog_full
    back server "$conn/server" "$LAB_ADDR" $port deaf backlog=1
    others+=("${pids[server]}")
    until_says server listening
    back first "$conn/client" "$LAB_ADDR" $port until="$LAB_TMP/given-up"
    others+=("${pids[first]}")
    until_says server 'a request waits'
    back client "$conn/client" "$LAB_ADDR" $port
    waits+=("${pids[client]}")
    port=$((port + 1))
done
echo "waiting for the kernel to give up, 102 s"
for pid in "${waits[@]}"; do wait "$pid"; done
# Whose request lies in the queue has asked before them, and still has no answer.
: >"$LAB_TMP/given-up"
for way in bare shim; do
    until_says first 'no event until now'
done
for pid in "${others[@]}"; do
    # shellcheck disable=SC2046 # a list of numbers
    kill $(cat "/proc/$pid/task/$pid/children" 2>/dev/null) 2>/dev/null
done

for scene in no_responder backlog_full; do
    diff -u "$LAB_TMP/$scene.bare.client.out" "$LAB_TMP/$scene.shim.client.out" || fault "output differs"
    shown client 'UNREACHABLE -110'
    line client network connect 'UNREACHABLE -110'
    line client network connect 'NO_ANSWER_YET'
    [ "$(grep -c . "$(log_of client)")" = 2 ] || fault "expected the early warning and the end, the log has: $(cat "$(log_of client)")"
done
shown first 'no event until now'
rdma link delete rxe_mu
ip link delete mu0
ip netns delete mute
finish
