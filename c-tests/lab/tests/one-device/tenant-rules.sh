#!/bin/bash
# Each kind of rule, for both families of addresses, at both barriers: in the tap (its thread, and inline), and in
# rdma_get_cm_event (batching off, no threads, a synchronous listener). What a bare and a preloaded client see of it.
# limit: 200
# lane: programs
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19720
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
addresses
export CMSHIM_LOG_FORMAT=json

policy "$here/policy" <<END_OF_POLICY
default = "deny"
tenant = [
  { name = "net", action = "deny", peers = ["10.77.0.0/24"] },
  { name = "one", peers = ["10.77.0.101"] },
  { name = "ports", peers = ["10.77.0.102"], ports = [$port, "$((port + 2))-$((port + 2))", $((port + 4)), $((port + 6)), $((port + 8))] },
  { name = "local", peers = ["10.77.0.103"], local = ["10.77.0.0/30"] },
  { name = "no-local", peers = ["10.77.0.104"], local = ["10.77.0.101"] },
  { name = "pkey", peers = ["10.77.0.105"], pkeys = [0x7fff] },
  { name = "no-pkey", peers = ["10.77.0.106"], pkeys = [0x0001] },
  { name = "gid", peers = ["10.77.0.107"], gids = ["::ffff:10.77.0.107/128"] },
  { name = "no-gid", peers = ["10.77.0.108"], gids = ["fd77::/64"] },
  { name = "six", peers = ["fd77::/112"] },
  { name = "not-twelve", action = "deny", peers = ["fd77::12"] },
  { name = "other-link", action = "deny", peers = ["fe80::/10%lo"] },
  { name = "link", peers = ["fe80::/10%$LAB_NETDEV"] },
]
END_OF_POLICY

# The same service for all: its other port is an odd one, which only tenants without ports may use.
steps() { # PORT
    local i
    echo "port=$1"
    for i in {101..108}; do echo "from=10.77.0.$i" "try"; done
    echo "from=10.81.0.5 try from=10.77.0.112 try"
    [ "$1" = $((port + 8)) ] || # the synchronous one has one address
        echo "port=$(($1 + 1)) from=10.77.0.102 try port=$1 to=fd77::1 from=fd77::11 try from=fd77::12 try to=$LAB_LINK_LOCAL from=fe80::77%$LAB_NETDEV try to=$LAB_ADDR"
}
first="10.77.0.101 -> 10.77.0.1: ESTABLISHED 0
10.77.0.102 -> 10.77.0.1: ESTABLISHED 0
10.77.0.103 -> 10.77.0.1: ESTABLISHED 0
10.77.0.104 -> 10.77.0.1: REJECTED 28, denied, tenant 'net'
10.77.0.105 -> 10.77.0.1: ESTABLISHED 0
10.77.0.106 -> 10.77.0.1: REJECTED 28, denied, tenant 'net'
10.77.0.107 -> 10.77.0.1: ESTABLISHED 0
10.77.0.108 -> 10.77.0.1: REJECTED 28, denied, tenant 'net'
10.81.0.5 -> 10.77.0.1: REJECTED 28, no-tenant, tenant ''
10.77.0.112 -> 10.77.0.1: REJECTED 28, denied, tenant 'net'"
more="10.77.0.102 -> 10.77.0.1: REJECTED 28, denied, tenant 'net'
fd77::11 -> fd77::1: ESTABLISHED 0
fd77::12 -> fd77::1: REJECTED 28, denied, tenant 'not-twelve'
fe80::77%$LAB_NETDEV -> $LAB_LINK_LOCAL: ESTABLISHED 0"

at() { echo "at=$LAB_ADDR,$1 at=$LAB_ADDR,$(($1 + 1)) at=fd77::1,$1 at=$LAB_LINK_LOCAL,$1"; }
barriers=()
barrier_is() { # NAME WAY SETTING…
    local name=$1 way=$2 options
    shift 2
    options=$(at $((port + 2 * ${#barriers[@]})))
    [ "$way" != sync ] || options=${options%% *}
    settings=("$@" CMSHIM_TENANT_POLICY="$here/policy")
    # shellcheck disable=SC2086 # words
    serve "$name" "$way" $options
    barriers+=("$name")
}
barrier_is thread block A=a
barrier_is inline edge CMSHIM_EVENTS_MODE=inline
barrier_is no_threads block CMSHIM_THREADS=off
barrier_is off epoll CMSHIM_EVENTS_MODE=off
barrier_is endpoint sync A=a
await "${barriers[@]}"

all='' wanted=''
for number in "${!barriers[@]}"; do
    name=${barriers[$number]}
    all+=" say=$name $(steps $((port + 2 * number)))"
    wanted+=$name$'\n'$first$'\n'
    [ "$name" = endpoint ] || wanted+=$more$'\n'
done
# shellcheck disable=SC2086 # words
equal "bare client" "${wanted%$'\n'}" "$(client $all)"

# The same steps under the library: the same for the program, and words for people.
unset CMSHIM_LOG_FORMAT
export CMSHIM_LOG_FILE=$LAB_TMP/preloaded.log
# shellcheck disable=SC2046 # words
equal "preloaded client" "$first" "$(preloaded "$BIN/tenant/client" $(steps $((port + 8))))"
says preloaded "10.77.0.104:[0-9]+ -> 10.77.0.1:$((port + 8)) refused by policy of the peer after .*: tenant 'net' may not connect"
says preloaded "10.81.0.5:[0-9]+ -> .* refused by policy of the peer after .*: no tenant matches"

no_ids_left "${barriers[@]}"
for name in "${barriers[@]}"; do
    kill "${server_of[$name]}"
done
for name in "${barriers[@]}"; do
    ends "$name"
    says "$name" 'tenant .net. may not connect'
    expect "$LAB_TMP/$name.out" "listeners gone$"
    expect "$LAB_TMP/$name.out" "^server: $([ "$name" = endpoint ] && echo 10 || echo 7) times CONNECT_REQUEST"
done
