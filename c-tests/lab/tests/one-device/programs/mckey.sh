#!/bin/bash
# mckey: joins a multicast group, sends and receives.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
server_is_up() { joined 070101EF; }
server=(mckey -b "$LAB_ADDR" -m 239.1.1.7 -c 1 -C 3)
client=(mckey -b "$LAB_ADDR" -m 239.1.1.7 -c 1 -C 3 -s)
twice
