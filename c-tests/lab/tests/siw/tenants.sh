#!/bin/bash
# A policy over iWARP: who may connect, and what a bare and a preloaded client see of a refusal, at each barrier.
# limit: 120
# lane: programs
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19720
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
for i in 101 102; do ip addr replace "10.77.0.$i/24" dev "$LAB_NETDEV"; done

policy "$here/policy" <<'END_OF_POLICY'
default = "deny"
tenant = [
  { name = "good", peers = ["10.77.0.101"], max_connections = 2 },
  { name = "bad", action = "deny", peers = ["10.77.0.102"] },
]
END_OF_POLICY

barriers=()
barrier_is() { # NAME WAY SETTING…
    local name=$1 way=$2
    shift 2
    settings=("$@" CMSHIM_TENANT_POLICY="$here/policy")
    serve "$name" "$way" "at=$LAB_ADDR,$((port + ${#barriers[@]}))"
    barriers+=("$name")
}
barrier_is thread block A=a
barrier_is inline edge CMSHIM_EVENTS_MODE=inline
barrier_is off epoll CMSHIM_EVENTS_MODE=off
barrier_is endpoint sync A=a
await "${barriers[@]}"

for number in "${!barriers[@]}"; do
    name=${barriers[$number]}
    client "to=$LAB_ADDR" "port=$((port + number))" from=10.77.0.101 try from=10.77.0.102 try from=10.77.0.101 try >"$LAB_TMP/$name.seen"
    echo "--- $name"
    cat "$LAB_TMP/$name.seen"
    [ "$(grep -c '10.77.0.101 .* ESTABLISHED 0' "$LAB_TMP/$name.seen")" = 2 ] || fail "$name: who may connect did not"
    expect "$LAB_TMP/$name.seen" "10.77.0.102 .* REJECTED -104, denied, tenant 'bad'"
done
CMSHIM_LOG_FILE=$LAB_TMP/preloaded.log preloaded "$BIN/tenant/client" "to=$LAB_ADDR" "port=$port" from=10.77.0.102 try >/dev/null
says preloaded "refused by policy of the peer after .*: tenant 'bad' may not connect"

for name in "${barriers[@]}"; do ends "$name"; says "$name" "tenant .bad. may not connect"; done
