# shellcheck shell=bash
# Two Soft-RoCE devices in one network namespace. Policy routing sends what goes from one address to the other
# over the veth pair instead of over lo, so that tc netem on va or vb works on it. Two namespaces would not do:
# Linux 6.1 opens the RoCE port only in the first one.
modprobe -a rdma_rxe rdma_ucm ib_uverbs veth sch_netem
ip link set lo up
ip link add va type veth peer name vb
ip addr add 10.77.1.1/24 dev va
ip addr add 10.77.1.2/24 dev vb
ip link set va up
ip link set vb up
for i in all va vb; do
    sysctl -qw "net.ipv4.conf.$i.accept_local=1" "net.ipv4.conf.$i.rp_filter=0" \
        "net.ipv4.conf.$i.arp_ignore=1" "net.ipv4.conf.$i.arp_announce=2"
done
ip rule add pref 5 iif lo from 10.77.1.1 to 10.77.1.2 lookup 101
ip rule add pref 6 iif lo from 10.77.1.2 to 10.77.1.1 lookup 102
ip route add 10.77.1.2 dev va src 10.77.1.1 table 101
ip route add 10.77.1.1 dev vb src 10.77.1.2 table 102
ip rule add pref 100 lookup local
ip rule del pref 0
rdma link add rxe1 type rxe netdev va
rdma link add rxe2 type rxe netdev vb
export LAB_ADDR=10.77.1.1 LAB_ADDR2=10.77.1.2 LAB_NETDEV=va LAB_NETDEV2=vb
