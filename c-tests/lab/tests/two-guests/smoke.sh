#!/bin/bash
# The lab itself: rping from guest b to guest a.
. "$LAB_LIB"
if [ "$1" = a ]; then
    start bare rping -s -a "$LAB_ADDR" -p 7900 -C 2
    server=$!
    wait_listen 7900
    barrier listening
    finish "$server" || fail "the server failed"
else
    barrier listening
    bare rping -c -a "$LAB_PEER" -p 7900 -C 2 -v || fail "rping between the guests does not work"
fi
