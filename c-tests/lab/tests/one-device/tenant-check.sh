#!/bin/bash
# The program's own check (cmshim_set_access_check) in every mode: what it is told, and that it may block, jump, throw (C++),
# panic (Rust), end its thread, be replaced, and call; the next connect is served each time, and no id is left. What it decides is in the audit log, the
# log and the counts, once.
# limit: 200
# lane: pool-churn
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19800
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
addresses
# What a check may take here, and how long one takes that blocks. A peer without an answer sends its request again after 4.1 s (CMA_CM_RESPONSE_TIMEOUT
# in the kernel's cma.c); if that one is under way while the first is refused, the program is asked twice. So all is over before.
look_slowness
in_time=$((8 * LAB_SLOWNESS < 1600 ? 8 * LAB_SLOWNESS : 1600))
export CHECK_BLOCKS_MS=$((2 * in_time))
policy "$here/policy" <<'END_OF_POLICY'
default = "allow"
tenant = [{ name = "named", peers = ["10.77.0.101"], max_connections = 1 }, { name = "out", peers = ["10.77.0.102"], action = "deny" }]
END_OF_POLICY

asked() { # DATA ADDRESS TENANT
    echo "asked: '$1' from $2 to 10.77.0.1, right port 1, tenant $3, data 56 bytes, P_Key 0xffff, size right 1, user 7"
}
seen() { # DATA ADDRESS TENANT
    asked "$@"
    echo "the program sees '$1'"
}
ok="10.77.0.101 -> 10.77.0.1: ESTABLISHED 0"
no="10.77.0.101 -> 10.77.0.1: REJECTED 28, program, tenant ''"
outcomes="$ok
$no
10.77.0.103 -> 10.77.0.1: ESTABLISHED 0
10.77.0.102 -> 10.77.0.1: REJECTED 28, denied, tenant 'out'
$no
$ok
$no
$ok
$no
$ok
$no
$ok
$ok
$ok
$ok
$no
10.77.0.101 -> 10.77.0.1: REJECTED 28, program, tenant ''"
steps=(from=10.77.0.101 data=allow try data=refuse try from=10.77.0.103 data=allow try from=10.77.0.102 try
    from=10.77.0.101 data=jump try data=allow try data=throw try data=allow try data=cancel try data=allow try data=block try sleep=$CHECK_BLOCKS_MS data=allow try
    data=errno try data=call try data=replace try data=allow try data=refuse try)
answers() { # TENANT of 101
    seen allow 10.77.0.101 "$1"; asked refuse 10.77.0.101 "$1"; seen allow 10.77.0.103 none
    asked jump 10.77.0.101 "$1"; echo jumped
    seen allow 10.77.0.101 "$1"; asked throw 10.77.0.101 "$1"; echo thrown
    seen allow 10.77.0.101 "$1"; asked cancel 10.77.0.101 "$1"; echo cancelled; seen allow 10.77.0.101 "$1"
    asked block 10.77.0.101 "$1"; echo "the check answers, too late, and the data is still there: 'block'"
    for data in allow errno call replace; do seen $data 10.77.0.101 "$1"; done
    echo "the other check is asked about 'allow'"; echo "the other check is asked about 'refuse'"
}

# The same decisions as the client saw, in the audit log, and summed up in the statistics and for tenants.
audited() { # NAME TENANT of 101
    local yes='allow ' no='refuse program' lines counts="10 7" data
    [ "$1" = alone ] || counts="9 8"
    lines=$(for data in "$yes" "$no" 103 102 "$no" "$yes" "$no" "$yes" "$no" "$yes" "$no" "$yes" "$yes" "$yes" "$yes" "$no" "$no"; do
        case $1-$data in
            *-103) echo "10.77.0.103 none $yes" ;;
            alone-102) echo "10.77.0.102 none $yes" ;;
            *-102) echo "10.77.0.102 out refuse denied" ;;
            *) echo "10.77.0.101 $2 $data" ;;
        esac
    done)
    equal "$1: audit" "$lines" "$(jq -r '"\(.peer) \(.tenant // "none") \(.decision) \(.reason // "")"' "$LAB_TMP/$1.audit")"
    equal "$1: counts" "$counts" "$("$CMSHIM" stat "${server_of[$1]}" --json | jq -r '.counters | "\(.tenants_allowed) \(.tenants_refused)"')"
    [ "$1" = alone ] || equal "$1: counts of the tenant" "8 7" "$(CMSHIM_TENANT_DIR=$here/$1 "$CMSHIM" policy show "${server_of[$1]}" --json |
        jq -r '.tenants[] | select(.name == "named") | "\(.allowed) \(.denied)"')"
}

run_check() { # NAME nonblock|'' THROWN SETTING…
    local name=$1 how=$2
    export THROWN=$BIN/tenant/$3.so
    shift 3
    (
        mkdir "$here/$name" # each counts alone
        export "$@" CMSHIM_TENANT_DIR="$here/$name" CMSHIM_TENANT_CHECK_MS="$in_time" CMSHIM_TENANT_AUDIT="$LAB_TMP/$name.audit" CMSHIM_TENANT_AUDIT_ALLOWED=true
        export CMSHIM_LOG_FILE="$LAB_TMP/$name.log" LD_PRELOAD=$CMSHIM_LIB
        # shellcheck disable=SC2086 # nothing, or a word
        exec "$BIN/tenant/check" "$LAB_ADDR" "$port" $how >"$LAB_TMP/$name.out" 2>&1
    ) &
    server_of[$name]=$!
    port_of[$name]=$((port++))
}
declare -A port_of=()
run_check thread '' thrown CMSHIM_TENANT_POLICY="$here/policy"
run_check edge nonblock panics CMSHIM_TENANT_POLICY="$here/policy" CMSHIM_EVENTS_MODE=inline
run_check off '' thrown CMSHIM_TENANT_POLICY="$here/policy" CMSHIM_EVENTS_MODE=off
run_check alone '' panics A=a
await thread edge off alone
clients=()
for name in thread edge off alone; do
    client port="${port_of[$name]}" "${steps[@]}" >"$LAB_TMP/$name.client" &
    clients+=($!)
done
wait "${clients[@]}"
for name in thread edge off alone; do
    wanted=$outcomes tenant=named
    if [ "$name" = alone ]; then
        wanted=${outcomes/10.77.0.102 -> 10.77.0.1: REJECTED 28, denied, tenant \'out\'/10.77.0.102 -> 10.77.0.1: ESTABLISHED 0} tenant=none
    fi
    equal "$name" "$wanted" "$(<"$LAB_TMP/$name.client")"
    audited "$name" $tenant
    kill "${server_of[$name]}"
    finish "${server_of[$name]}" 10
    expect_status 0 $? "$name: $(<"$LAB_TMP/$name.out")"
    answers=$(answers $tenant)
    [ "$name" != alone ] || answers=${answers/$(asked jump 10.77.0.101 none)/$(seen allow 10.77.0.102 none)$'\n'$(asked jump 10.77.0.101 none)}
    equal "$name's answers" "set: 0
server: listening
$answers
listener gone, kernel ids 1" "$(<"$LAB_TMP/$name.out")"
    peer="connect request 10.77.0.1:${port_of[$name]} <- 10.77.0.101 refused[^:]*: "
    says "$name" "${peer}the program's own check refused.*; program"
    [ "$name" = edge ] || # which does not call again
        says "$name" "${peer}the program's own check did not return.*; program, left"
    says "$name" "${peer}the program's own check has not returned after $in_time ms.*; program, late"
done
