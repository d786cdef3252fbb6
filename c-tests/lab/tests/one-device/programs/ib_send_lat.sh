#!/bin/bash
# ib_send_lat -R: perftest with connections by the CM.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
# -F: go on when it cannot measure the clock of an emulated CPU ("Correlation coefficient")
# Large messages give the server time. With -R there are two connections, and the server listens anew for the second one
# while its client is on the way to it already. A client that comes too early is refused (REJECTED 8), tries again with
# ids that it has freed, and crashes: rdma_cm_client_connection, mended upstream in 3d9d8d0 ("Fix crashes and logical flaws
# in RDMA CM connection retry", 26.04). Before its second connect the client fills its buffer with rand(): some 50 ms here.
port=7207
server=(ib_send_lat -R -F -p "$port" -n 5 -s 262144)
client=(ib_send_lat -R -F -p "$port" -n 5 -s 262144 "$LAB_ADDR")
tidy() { sed -E "/^Correlation coefficient/d; s/^( 262144 +5 ).*/\1 NUMBERS/" | scrub; }
twice
