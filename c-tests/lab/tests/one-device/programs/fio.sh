#!/bin/bash
# fio with its rdma engine: the server lends memory, the client writes to it.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
port=7216
server=(fio --name=job --ioengine=rdma --hostname="$LAB_ADDR" --port="$port" --rw=read --bs=4k --size=64k --minimal)
client=(fio --name=job --ioengine=rdma --hostname="$LAB_ADDR" --port="$port" --verb=write --rw=write --bs=4k --size=64k --minimal)
tidy() { cut -d";" -f1-6 | scrub; }
twice
