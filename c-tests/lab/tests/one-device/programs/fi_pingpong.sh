#!/bin/bash
# fi_pingpong -p verbs -e msg: libfabric, which loads librdmacm as a plugin.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
# Other tests make and remove interfaces meanwhile, and libfabric looks at all.
export FI_VERBS_IFACE=$LAB_NETDEV
# the ports of its TCP control connection stay busy for a while
server_is_up() { tcp_listens "${server[6]}"; }
commands() {
    server=(fi_pingpong -p verbs -e msg -B $((7211 + 2 * $1)) -I 10 -S 64)
    client=(fi_pingpong -p verbs -e msg -P $((7211 + 2 * $1)) -B $((7212 + 2 * $1)) -I 10 -S 64 "$LAB_ADDR")
}
tidy() { sed -E "s/^(64 +10 +=10 ).*/\1 NUMBERS/"; }
twice
