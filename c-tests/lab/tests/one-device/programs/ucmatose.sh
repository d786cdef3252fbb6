#!/bin/bash
# ucmatose: several connections from one channel.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
port=7201
server=(ucmatose -b "$LAB_ADDR" -p "$port" -c 4 -C 3)
client=(ucmatose -s "$LAB_ADDR" -p "$port" -c 4 -C 3)
twice
