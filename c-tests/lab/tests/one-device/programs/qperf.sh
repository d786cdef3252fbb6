#!/bin/bash
# qperf -cm 1: its control connection is TCP, its RDMA connection is made by the CM.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
server_is_up() { tcp_listens 7209; }
# Its server listens for the CM only after the control connection has told it to, and its client does not wait for that.
own_race='Event rejected'
server=(qperf -lp 7209)
server_end=kill
client=(qperf -lp 7209 -ip 7210 -cm 1 -t 1 "$LAB_ADDR" rc_lat)
tidy() { sed -E "s/= +.*/= SPEED/" | scrub; }
twice
