#!/bin/bash
# udaddy: unreliable datagrams, addresses resolved by the CM.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
port=7174
server=(udaddy -b "$LAB_ADDR" -c 2 -C 3)
client=(udaddy -s "$LAB_ADDR" -c 2 -C 3)
twice
