#!/bin/bash
# The device goes away under a connection: an own second device, so that the one of the other tests stays.
# limit: 120
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"

scene_removal() {
    ip link add rm0 type veth peer name rm1
    ip addr add 10.79.0.1/24 dev rm0
    ip link set rm0 up
    ip link set rm1 up
    rdma link add rxe_rm type rxe netdev rm0
    LAB_ADDR=10.79.0.1 back program "$BIN/connections/removal"
    until_says program 'connected on rxe_rm'
    rdma link delete rxe_rm
    join program
    ip link delete rm0
}
pair_apart removal
shown program 'connected on rxe_rm'
shown program 'DEVICE_REMOVAL'
line program this-kernel device 'DEVICE_REMOVAL'
finish
