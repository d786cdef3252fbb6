# shellcheck shell=bash
# One Soft-RoCE device on one end of a veth pair; connections loop back through it.
# At the other end, in a namespace of its own, is 10.77.0.99: it answers ARP and does no RDMA.
# fe80::77 is a fixed link-local address, so that tests can name it (fe80::77%v0).
modprobe -a rdma_rxe rdma_ucm ib_uverbs veth
ip link set lo up
ip netns add silent
ip link add v0 type veth peer name v1 netns silent
sysctl -qw net.ipv6.conf.v0.accept_dad=0
ip addr add 10.77.0.1/24 dev v0
ip -6 addr add fd77::1/64 dev v0 nodad
ip -6 addr add fe80::77/64 dev v0 nodad
ip link set v0 up
ip -n silent addr add 10.77.0.99/24 dev v1
ip -n silent link set v1 up
rdma link add rxe0 type rxe netdev v0
export LAB_ADDR=10.77.0.1 LAB_ADDR6=fd77::1 LAB_LINK_LOCAL=fe80::77%v0 LAB_NETDEV=v0 LAB_SILENT=10.77.0.99
