#!/bin/bash
# rstream: rsockets, which use librdmacm inside librdmacm.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
port=7204
server=(rstream -b "$LAB_ADDR" -p "$port" -S 4096 -I 10 -C 2)
client=(rstream -s "$LAB_ADDR" -p "$port" -S 4096 -I 10 -C 2)
tidy() { awk 'NR == 1 || NF < 7 { print; next } { print $1, $2, $3, $4 }' | scrub; }
twice
