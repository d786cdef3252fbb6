# shellcheck shell=bash
# The RDMA modules are there, a device is not.
modprobe -a rdma_ucm ib_uverbs rdma_rxe veth
ip link set lo up
