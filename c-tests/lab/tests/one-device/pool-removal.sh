#!/bin/bash
# The device goes away while queue pairs lie ready on it: an own device, so that the one of the other tests stays.
# limit: 150
# lane: pool
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"

scene_removal() {
    ip link add pr0 type veth peer name pr1
    ip addr add 10.79.1.1/24 dev pr0
    ip link set pr0 up
    ip link set pr1 up
    rdma link add rxe_pr type rxe netdev pr0
    LAB_ADDR=10.79.1.1 back program "$BIN/pool/removal"
    until_says program 'connected on rxe_pr'
    rdma link delete rxe_pr || fault "rdma link delete: status $?"
    join program
    ip link delete pr0
}
pair_apart removal CMSHIM_LOG_LEVEL=debug CMSHIM_POOL_WARM=8
shown program 'all told'
shown program 'done'
shown program 'exit status 0'
line program this-kernel device 'DEVICE_REMOVAL'
says program 'pool: hits [1-9].*evicted [1-9]'
finish
