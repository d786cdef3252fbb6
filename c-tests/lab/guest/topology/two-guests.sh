# shellcheck shell=bash
# One of two guests that are joined by a virtual cable: a is 10.77.0.1, b is 10.77.0.2.
modprobe -a virtio_net rdma_rxe rdma_ucm ib_uverbs sch_netem
ip link set lo up
case $LAB_SIDE in
    a) LAB_ADDR=10.77.0.1 LAB_PEER=10.77.0.2 ;;
    b) LAB_ADDR=10.77.0.2 LAB_PEER=10.77.0.1 ;;
    *) echo "side '$LAB_SIDE' is neither a nor b" >&2; false ;;
esac
netdev_there() {
    LAB_NETDEV=$(find /sys/class/net -mindepth 1 \( -name 'eth*' -o -name 'en*' \) -printf '%f\n' | head -n 1)
    [ -n "$LAB_NETDEV" ]
}
wait_until 10 netdev_there
ip addr add "$LAB_ADDR/24" dev "$LAB_NETDEV"
ip link set "$LAB_NETDEV" up
rdma link add rxe0 type rxe netdev "$LAB_NETDEV"
export LAB_ADDR LAB_PEER LAB_NETDEV
