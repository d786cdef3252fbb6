#!/bin/bash
# The lab itself: modules are loaded, no device is there.
. "$LAB_LIB"
[ -e /dev/infiniband/rdma_cm ] || fail "/dev/infiniband/rdma_cm is not there"
[ -z "$(ls /sys/class/infiniband)" ] || fail "a device is there"
