#!/bin/bash
# cmtime: the time that each step of a connection takes.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
port=7206
pooled=yes
server=(cmtime -b "$LAB_ADDR" -p "$port" -c 20)
server_end=kill
client=(cmtime -s "$LAB_ADDR" -p "$port" -c 20)
tidy() { sed -E "s/^([a-z ]+):.*/\1: NUMBERS/; s/ +:/:/"; }
twice
