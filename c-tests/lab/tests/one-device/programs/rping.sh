#!/bin/bash
# rping: RDMA ping-pong, the first program that everybody tries.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
port=7174
server=(rping -s -a "$LAB_ADDR" -p "$port" -C 3)
client=(rping -c -a "$LAB_ADDR" -p "$port" -C 3 -v)
twice
