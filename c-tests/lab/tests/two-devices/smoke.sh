#!/bin/bash
# The lab itself: traffic from one device to the other crosses the veth pair, so that tc netem works on it.
. "$LAB_LIB"
before=$(<"/sys/class/net/$LAB_NETDEV/statistics/rx_packets")
start bare rping -s -a "$LAB_ADDR" -p 7900 -C 2
server=$!
wait_listen 7900
bare rping -c -a "$LAB_ADDR" -I "$LAB_ADDR2" -p 7900 -C 2 -v || fail "rping between the devices does not work"
finish "$server" || fail "the server failed"
after=$(<"/sys/class/net/$LAB_NETDEV/statistics/rx_packets")
[ $((after - before)) -gt 10 ] || fail "the packets did not cross $LAB_NETDEV"
