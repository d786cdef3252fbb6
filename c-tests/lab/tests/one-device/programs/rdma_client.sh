#!/bin/bash
# rdma_server and rdma_client: the synchronous calls (rdma_create_ep, rdma_get_request).
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
port=7202
server=(rdma_server -s "$LAB_ADDR" -p "$port")
client=(rdma_client -s "$LAB_ADDR" -p "$port")
twice
