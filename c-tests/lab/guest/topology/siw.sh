# shellcheck shell=bash
# One iWARP device (siw) on one end of a veth pair; connections loop back through it.
# At the other end, in a namespace of its own, is 10.77.0.99: it answers ARP, and refuses each TCP connection.
modprobe -a rdma_ucm ib_uverbs iw_cm libcrc32c veth
insmod "$SIW/$(uname -r)/siw.ko"
ip link set lo up
ip netns add silent
ip link add v0 type veth peer name v1 netns silent
ip addr add 10.77.0.1/24 dev v0
ip link set v0 up
ip -n silent addr add 10.77.0.99/24 dev v1
ip -n silent link set v1 up
rdma link add siw0 type siw netdev v0
export LAB_ADDR=10.77.0.1 LAB_NETDEV=v0 LAB_SILENT=10.77.0.99
