#!/bin/bash
# A call beneath fails (a preload below the shim makes it): the program sees the same, and the line has the errno
# that librdmacm loses.
# limit: 200
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
conn=$BIN/connections
OWN_PRELOAD=$BIN/behaviour/inject.so

with() { # NAME side INJECT [TEXT]: a connection with the fault on one side; the server goes on until it says the text
    eval "scene_$1() { fault_on $2 $3 $(printf %q "${4:-}"); }"
    pair "$1"
}
fault_on() { # side INJECT TEXT
    INJECT=$([ "$1" = server ] && echo "$2") back server "$conn/server" "$LAB_ADDR" $port accept
    until_says server listening
    INJECT=$([ "$1" = client ] && echo "$2") run client "$conn/client" "$LAB_ADDR" $port
    [ -z "$3" ] || until_says server "$3"
    stop server
}

with client_rtr client ibv_modify_qp:2:22 'exit status'
shown client 'CONNECT_ERROR -1'
line client this-kernel connect 'CONNECT_ERROR -1' 'select(tostring | test("ibv_modify_qp") and test("EINVAL"))'
with server_rtr server ibv_modify_qp:2:12
shown server 'rdma_accept(id, &p) = -1'
line server this-kernel accept '' 'select(tostring | test("ibv_modify_qp"))'
with client_qp client ibv_create_qp:1:12
line client this-kernel qp 'ENOMEM'
with client_init client ibv_modify_qp:1:5
line client this-kernel qp '' 'select(tostring | test("ibv_modify_qp"))'
with client_pd client ibv_alloc_pd:1:12
line client this-kernel address 'ADDR_ERROR -1'
with client_cq client ibv_create_cq:1:12
line client this-kernel qp '' 'select(tostring | test("ibv_create_cq"))'
with client_connect client rdma_connect:1:22
line client this-process connect 'EINVAL'
with client_device client ibv_open_device:0:13
with client_slow client rdma_connect:1:sleep=300
finish
