#!/bin/bash
# What cmshim doctor says of the device is what other programs say.
# limit: 300
# lane: stats
. "$LAB_LIB"
need jq rdma ibv_devinfo ldd
report=$LAB_TMP/report.json
"$CMSHIM" doctor --json --program rping >"$report" 2>"$LAB_TMP/err"
status=$?
[ ! -s "$LAB_TMP/err" ] || fail "$(cat "$LAB_TMP/err")"
value() { jq -r --arg id "$1" '.checks[] | select(.id == $id) | .value' "$report"; }
details() { jq -r --arg id "$1" '.checks[] | select(.id == $id) | .details[]' "$report"; }
is() { jq -r --arg id "$1" '.checks[] | select(.id == $id) | .status' "$report" | grep -qx "$2" || fail "$1 is not $2: $(value "$1")"; }

# The interface has 1500 here, and nothing else is wrong.
expect_status 1 "$status" "$(jq -r '.checks[] | select(.status != "ok") | "\(.id) \(.status)"' "$report")"
is mtu warn
# A test beside this one makes a device of its own, whose GIDs may be on their way.
[ "$(jq '[.checks[] | select(.status == "warn" or .status == "fail") | select(.id != "mtu" and .id != "gids")] | length' "$report")" = 0 ] ||
    fail "more than the MTU is wrong"
details gids | grep '^rxe0 port 1:' && fail "the line above is about a GID table that is right"

# devices, by rdma
link=$(rdma -j link show rxe0/1 | jq -r '.[0] | "\(.state) \(.netdev)"')
[ "$link" = "ACTIVE $LAB_NETDEV" ] || fail "rdma says: $link"
details devices | grep -qx "rxe0 port 1: ACTIVE, RoCE, $LAB_NETDEV" || fail "devices: $(details devices)"

# GID table, by ibv_devinfo and by ip
ibv_devinfo -v -d rxe0 >"$LAB_TMP/devinfo"
sed -nE 's/^[[:space:]]*GID\[ *([0-9]+)\]:[[:space:]]*([^,]*),? *(.*)$/\1 \2 \3/p' "$LAB_TMP/devinfo" >"$LAB_TMP/gids.devinfo"
details gids | sed -nE "s#^rxe0/1 $LAB_NETDEV: GID ([0-9]+) (.*) ([^ ]+)\$#\1 \3 \2#p" >"$LAB_TMP/gids.doctor"
[ -s "$LAB_TMP/gids.doctor" ] || fail "no GIDs: $(details gids)"
sed -i 's/ ::ffff:/ /' "$LAB_TMP/gids.devinfo"
same "$LAB_TMP/gids.devinfo" "$LAB_TMP/gids.doctor" "the GID tables of ibv_devinfo and doctor"
ip -j addr show "$LAB_NETDEV" | jq -r '.[0].addr_info[].local' | while read -r address; do
    grep -qF " $address " "$LAB_TMP/gids.doctor" || echo "$address has no GID"
done >"$LAB_TMP/addresses"
[ ! -s "$LAB_TMP/addresses" ] || fail "$(cat "$LAB_TMP/addresses")"

# MTU, by ip and ibv_devinfo
mtu=$(ip -j link show "$LAB_NETDEV" | jq '.[0].mtu')
active=$(awk '/active_mtu/ { print $2 }' "$LAB_TMP/devinfo")
details mtu | grep -qx "rxe0 port 1: $LAB_NETDEV $mtu gives $active, the device's active MTU is $active" || fail "mtu: $(details mtu)"

# sysctl, ulimit, rdma system, lsmod
value max-backlog | grep -q "^at most $(sysctl -n net.rdma_ucm.max_backlog) " || fail "backlog: $(value max-backlog)"
case $(ulimit -l) in
    unlimited) [ "$(value memlock)" = unlimited ] || fail "memlock: $(value memlock)" ;;
    *) value memlock | grep -qE "^($(ulimit -l) KiB|$(($(ulimit -l) / 1024)) MiB)" || fail "memlock: $(value memlock)" ;;
esac
[ "netns $(value netns)" = "$(rdma system | cut -d' ' -f1,2)" ] || fail "netns: $(value netns), rdma says $(rdma system)"
arp=$(details arp)
all=$(sysctl -n net.ipv4.conf.all.rp_filter) own=$(sysctl -n "net.ipv4.conf.$LAB_NETDEV.rp_filter")
ignore=$(sysctl -n "net.ipv4.conf.$LAB_NETDEV.arp_ignore")
grep -qx "$LAB_NETDEV: rp_filter $((all > own ? all : own)), arp_ignore $ignore" <<<"$arp" || fail "arp: $arp"
[ "$(lsmod | grep -cE '^(rdma_cm|rdma_ucm|ib_uverbs) ')" = 3 ] || fail "lsmod does not know all modules: $(lsmod)"
is modules ok
is device-files ok

# libraries, by the loader and by dpkg
for name in librdmacm libibverbs; do
    path=$(realpath "$(ldd "$(command -v rping)" | awk -v name="$name.so.1" '$1 == name { print $3 }')")
    details libraries | grep -qF "$name.so.1: $path (" || fail "the loader takes $path; doctor: $(details libraries)"
    # "NAME VERSION" in brackets, where dpkg knows the file
    package=$(details libraries | sed -nE "s#^$name\\.so\\.1: .* \\(([^ ]+) [^ ]+\\)\$#\\1#p")
    if [ -n "$package" ]; then
        version=$(dpkg-query -W -f '${Package} ${Version}' "$package")
        details libraries | grep -qF "$path ($version)" || fail "dpkg says $version; doctor: $(details libraries)"
    fi
done
value cmshim-library | grep -qF "/libcmshim.so, $("$CMSHIM" --version | cut -d' ' -f2)" || fail "library: $(value cmshim-library)"

# The default RoCE mode, by configfs, on a device of our own: the directory holds the device.
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
details roce-mode | grep -qx 'rxe0 port 1: RoCE v2 (the kernel.s default; configfs has no setting)' || fail "mode: $(details roce-mode)"
ip link add do0 type veth peer name do1
ip link set do0 up
rdma link add rxe_do type rxe netdev do0
mkdir /sys/kernel/config/rdma_cm/rxe_do || fail "configfs does not take the device"
"$CMSHIM" doctor --json >"$report"
mode=$(cat /sys/kernel/config/rdma_cm/rxe_do/ports/1/default_roce_mode)
details roce-mode | grep -qx "rxe_do port 1: $mode (configfs)" || fail "configfs says $mode; doctor: $(details roce-mode)"
rmdir /sys/kernel/config/rdma_cm/rxe_do
rdma link delete rxe_do
ip link delete do0

# The text, for people: 80 columns, commands aside, and no escape codes.
"$CMSHIM" doctor >"$LAB_TMP/text"
expect_status 1 $? "text"
expect "$LAB_TMP/text" "^warn  MTU +connections get only 1024"
expect "$LAB_TMP/text" "^      mend: ip link set $LAB_NETDEV mtu 4200\$"
expect_no "$LAB_TMP/text" $'\x1b'
grep -v 'mend:' "$LAB_TMP/text" | grep -vE '[^ ]{50}' | grep -E '.{81}' && fail "the line above is too long"
exit 0
