#!/bin/bash
# What librdmacm does within itself: synchronous ids under a policy, whether its inner calls come through the library or
# not (-Wl,-Bsymbolic-functions; that is another root of the lab), and channels that are closed with connections on them.
# limit: 200
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19890
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
need readelf ldd

run() { # NAME SETTING… -- COMMAND…
    local name=$1 kept=()
    shift
    while [ "$1" != -- ]; do kept+=("$1"); shift; done
    shift
    mkdir -p "$here/share-$name"
    env "${kept[@]}" LAB_PORT=$((port++)) CMSHIM_TENANT_DIR="$here/share-$name" CMSHIM_TENANT_POLICY="$here/$name" \
        CMSHIM_LOG_FILE="$LAB_TMP/$name.log" LD_PRELOAD="$CMSHIM_LIB" "$@" >"$LAB_TMP/$name.out" 2>&1
    expect_status 0 $? "$name: $(<"$LAB_TMP/$name.out")"
}

for mode in auto inline off; do
    printf 'default = "deny"\n' | policy "$here/sync-$mode"
    run "sync-$mode" SYNC=1 CMSHIM_EVENTS_MODE=$mode -- "$BIN/tenant/alone" "$here/sync-$mode" refused always=refused:500 \
        put='version = 1|default = "allow"|' accepted put='version = 1|default = "deny"|' refused
    equal "sync-$mode" $'refused\nrefused: always\naccepted\nrefused' "$(<"$LAB_TMP/sync-$mode.out")"
    says "sync-$mode" 'refused by this process: tenant policy: no tenant matches this connection'

    printf 'default = "deny"\ntenant = [{ name = "a", max_connections = 3 }]\n' | policy "$here/ep-$mode"
    run "ep-$mode" SYNC=destroy CMSHIM_EVENTS_MODE=$mode -- "$BIN/tenant/alone" "$here/ep-$mode" accepted always=accepted:1500
    equal "ep-$mode" $'accepted\naccepted: always' "$(<"$LAB_TMP/ep-$mode.out")"
done

for how in destroy close migrate; do
    LAB_PORT=$((port++)) "$BIN/tenant/closed" $how >"$LAB_TMP/bare-$how" || fail "bare $how"
    for mode in auto inline off; do
        printf 'default = "deny"\ntenant = [{ name = "a", max_connections = 3 }]\n' | policy "$here/closed-$how-$mode"
        run "closed-$how-$mode" CMSHIM_EVENTS_MODE=$mode -- "$BIN/tenant/closed" $how
        same "$LAB_TMP/bare-$how" "$LAB_TMP/closed-$how-$mode.out"
    done
done

# An rsocket does all within librdmacm.
printf 'default = "allow"\n' | policy "$here/rsocket"
run rsocket A=a -- "$BIN/calls/rsocket"
library=$(ldd "$BIN/calls/rsocket" | sed -nE 's/.*librdmacm[^ ]* => ([^ ]+).*/\1/p')
if readelf -rW "$library" | grep -q 'JUMP_SLO.* rdma_create_id'; then
    expect "$LAB_TMP/rsocket.out" '^client: there$'
else
    expect "$LAB_TMP/rsocket.out" '^errno EACCES$'
    says rsocket 'tenant.policy cannot be kept for rsockets'
fi
