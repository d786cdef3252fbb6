#!/bin/bash
# rping: RDMA ping-pong, the first program that everybody tries.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
port=7174
server=(rping -s -a "$LAB_ADDR" -p "$port" -C 3)
client=(rping -c -a "$LAB_ADDR" -p "$port" -C 3 -v)
# Its event thread prints these lines while the main thread is already on its way out: there or not, also bare.
tidy() { grep -vE '^(client|server) DISCONNECT EVENT|^wait for .* state 10$' | scrub; }
twice
