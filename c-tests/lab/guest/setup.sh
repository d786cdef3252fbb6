# shellcheck shell=bash
# Brings a guest into the state that its tests expect. Sourced by every script that runs in a guest.

ulimit -c 0
dmesg -n 4

# shellcheck source=../../include/patience.sh
. "$LAB_DIR/../include/patience.sh"
# shellcheck source=pulse.sh
. "$LAB_DIR/guest/pulse.sh"
mkfifo /run/lab-nap
pulse

set -e
# shellcheck source=/dev/null
. "$LAB_DIR/guest/topology/$LAB_TOPOLOGY.sh"
set +e

# A device can be used when its port is active and the GID of its IPv4 address is there (iWARP has none of that kind).
device_ready() {
    grep -q ACTIVE "$1/ports/1/state" && { grep -q RNIC "$1/node_type" || grep -q ':ffff:0a4d:' "$1"/ports/1/gids/* 2>/dev/null; }
}

for device in /sys/class/infiniband/*; do
    [ -e "$device" ] || continue
    wait_until 10 device_ready "$device" || { echo "lab: ${device##*/} did not become ready"; exit 3; }
done
unset device
