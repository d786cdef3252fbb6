#!/bin/bash
# rdma_xserver and rdma_xclient.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
port=7203
server=(rdma_xserver -p "$port")
client=(rdma_xclient -s "$LAB_ADDR" -p "$port")
twice
