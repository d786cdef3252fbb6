#!/bin/bash
# The device goes away while channels are polled, with events unread: each run has a device of its own.
# limit: 200
# lane: events
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
# shellcheck source=../../../include/modes.sh
. "$(dirname "$0")/../../../include/modes.sh"

scene_removal() {
    local number=$((port - ${LAB_FIRST_PORT:-18700})) # of the device, its interface and its network
    ip link add rp$number type veth peer name rq$number
    ip addr add 10.80.$number.1/24 dev rp$number
    ip link set rp$number up
    ip link set rq$number up
    rdma link add rxe_rp$number type rxe netdev rp$number
    LAB_ADDR=10.80.$number.1 back program "$BIN/events/removal"
    until_says program ready
    rdma link delete rxe_rp$number
    join program
    ip link delete rp$number
}
MODES=${MODES:-auto thread} # inline is what auto does here
modes removal
shown program 'RDMA_CM_EVENT_DEVICE_REMOVAL 23 times'
shown program 'exit status 0'
finish
