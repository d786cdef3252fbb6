#!/bin/bash
# cmshim doctor without a device; then with one, of which one thing at a time is broken: that check changes, and no other.
# limit: 300
. "$LAB_LIB"
need jq prlimit setpriv

# Without CAP_IPC_LOCK and CAP_DAC_OVERRIDE root is as bound to limits and modes as others are.
doctor() { # FILE [OPTION...]
    local file=$1
    shift
    prlimit --memlock="${memlock:-unlimited}" setpriv --bounding-set=-ipc_lock,-dac_override,-dac_read_search \
        "$CMSHIM" doctor --json "$@" >"$file" 2>"$LAB_TMP/err"
    status=$?
    [ ! -s "$LAB_TMP/err" ] || fail "$(cat "$LAB_TMP/err")"
}
troubles() { jq -r '.checks[] | select(.status == "warn" or .status == "fail") | "\(.id) \(.status)"' "$1"; }
value() { jq -r --arg id "$1" '.checks[] | select(.id == $id) | .value' "$2"; }
mend() { jq -r --arg id "$1" '.checks[] | select(.id == $id) | .mend[]' "$2"; }

# The only trouble of this host is the one named here: what was broken before is mended.
only() { # NAME "ID STATUS"
    local now=$LAB_TMP/$1.json
    doctor "$now"
    [ "$(troubles "$now")" = "$2" ] || fail "$1: expected only '$2', got: $(troubles "$now")"
    case $2 in
        *fail) expect_status 2 "$status" "$1" ;;
        *warn) expect_status 1 "$status" "$1" ;;
        *) expect_status 0 "$status" "$1" ;;
    esac
}
# Runs the commands that were given. The next "only" shows that they mended it.
mended() { # NAME ID
    local command
    command=$(mend "$2" "$LAB_TMP/$1.json")
    bash -ec "$command" >"$LAB_TMP/$1.mend" 2>&1 || fail "$1: '$command' failed: $(cat "$LAB_TMP/$1.mend")"
}
# The GID of dv0's address comes, and goes, a moment after the address.
wait_gid() {
    wait_until 10 grep -q 'ffff:0a51:0001' /sys/class/infiniband/rxe0/ports/1/gids/{0,1,2,3,4,5,6,7,8,9} || fail "10.81.0.1 has no GID"
}

ip link add dv0 mtu 4200 type veth peer name dv1 mtu 4200
ip addr add 10.81.0.1/24 dev dv0
ip link set dv1 up
ip link set dv0 up
ip link add dd0 type dummy
ip addr add 10.82.0.1/24 dev dd0

# No device: said in plain words, and the rest does not apply. The command given makes one.
only nothing "devices fail"
[ "$(value devices "$LAB_TMP/nothing.json")" = "there is no RDMA device" ] || fail "no device, but: $(value devices "$LAB_TMP/nothing.json")"
expect "$LAB_TMP/nothing.json" 'rdma link add rxe0 type rxe netdev dv0'
mended nothing devices
wait_gid

sysctl -qw net.rdma_ucm.max_backlog=4
only backlog "max-backlog warn"
value max-backlog "$LAB_TMP/backlog.json" | grep -q '^at most 4 ' || fail "max_backlog: $(value max-backlog "$LAB_TMP/backlog.json")"
mended backlog max-backlog
[ "$(sysctl -n net.rdma_ucm.max_backlog)" = 1024 ] || fail "max_backlog was not mended"

memlock=65536
only memlock64k "memlock fail"
[ "$(value memlock "$LAB_TMP/memlock64k.json")" = "64 KiB" ] || fail "memlock: $(value memlock "$LAB_TMP/memlock64k.json")"
memlock=unlimited

ip link set dv0 mtu 1500
only mtu "mtu warn"
active=$(ibv_devinfo -d rxe0 | awk '/active_mtu/ { print $2 }')
[ "$active" = 1024 ] || fail "ibv_devinfo says $active"
expect "$LAB_TMP/mtu.json" "dv0 1500 gives 1024, the device's active MTU is 1024"
mended mtu mtu

# Strict filtering is no trouble where there is no other interface.
sysctl -qw net.ipv4.conf.dv0.rp_filter=1
only rp-alone ''
ip link set dd0 up
only rp "arp warn"
mended rp arp
[ "$(sysctl -n net.ipv4.conf.dv0.rp_filter)" = 2 ] || fail "rp_filter was not mended"

ip addr add 10.81.0.2/24 dev dd0
only flux "arp warn"
mended flux arp
ip link delete dd0

ip addr del 10.81.0.1/24 dev dv0
only address "gids warn"
ip addr add 10.81.0.1/24 dev dv0
wait_gid

chmod 0 /dev/infiniband/rdma_cm
only mode "device-files fail"
mended mode device-files
numbers=$(stat -c '%Hr %Lr' /dev/infiniband/rdma_cm)
rm /dev/infiniband/rdma_cm
only node "device-files fail"
mended node device-files
[ "$(stat -c '%Hr %Lr' /dev/infiniband/rdma_cm)" = "$numbers" ] || fail "the device file was made with other numbers"

# A value that is no trouble is shown all the same.
rdma system set netns exclusive && {
    only exclusive ''
    [ "$(value netns "$LAB_TMP/exclusive.json")" = exclusive ] || fail "netns: $(value netns "$LAB_TMP/exclusive.json")"
    rdma system set netns shared
}

ip link set dv1 down
only carrier "devices fail"
expect "$LAB_TMP/carrier.json" 'ethtool dv0  # no carrier'
ip link set dv1 up
rdma link delete rxe0
only removed "devices fail"
ip link delete dv0

modprobe -r rdma_ucm
doctor "$LAB_TMP/modules.json"
[ "$(troubles "$LAB_TMP/modules.json")" = $'modules fail\ndevices fail' ] || fail "modules: $(troubles "$LAB_TMP/modules.json")"
bash -ec "$(mend modules "$LAB_TMP/modules.json")" || fail "the modules could not be loaded"
lsmod | grep -q '^rdma_ucm' || fail "rdma_ucm is not loaded again"
