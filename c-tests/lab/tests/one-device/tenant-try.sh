#!/bin/bash
# limit: 120
. "$LAB_LIB"
cat > $LAB_TMP/deny.toml <<'X'
version = 1
default = "deny"
[[tenant]]
name = "olap"
peers = ["10.99.0.0/16"]
X
cat > $LAB_TMP/two.toml <<'X'
version = 1
default = "deny"
[[tenant]]
name = "olap"
peers = ["10.77.0.0/16"]
max_connections = 1
tos = 32
X
export CMSHIM_LOG_LEVEL=info CMSHIM_TENANT_AUDIT=$LAB_TMP/audit.json CMSHIM_TENANT_AUDIT_ALLOWED=true
p=19100
try() { # name policy mode servermode n
    p=$((p+1))
    echo "=== $1"
    CMSHIM_TENANT_POLICY=$LAB_TMP/$2.toml CMSHIM_EVENTS_MODE=$3 LD_PRELOAD=$CMSHIM_LIB "$BIN/connections/server" $LAB_ADDR $p $4 n=$5 >$LAB_TMP/server.$1 2>&1 &
    s=$!
    wait_listen $p
    for t in $(ls /proc/$s/task); do echo "$(cat /proc/$s/task/$t/comm): $(grep voluntary /proc/$s/task/$t/status | tr '\n\t' '  ')"; done
    LD_PRELOAD=$CMSHIM_LIB timeout 20 "$BIN/connections/client" $LAB_ADDR $p n=3 hold=50 >$LAB_TMP/client.$1 2>&1
    for t in $(ls /proc/$s/task); do echo "$(cat /proc/$s/task/$t/comm): $(grep voluntary /proc/$s/task/$t/status | tr '\n\t' '  ')"; done
    rdma resource show cm_id | grep -c ":$p "
    cat $LAB_TMP/client.$1; echo "-- server"; 
    kill $s; wait $s; echo "server status $?"; cat $LAB_TMP/server.$1
}
try denied-auto deny auto accept 5
try denied-off deny off accept 5
try one-auto two auto accept 3
try one-off two off accept 3
cat $LAB_TMP/audit.json
ls -la /run/cmshim
exit 1
