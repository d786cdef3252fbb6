#!/bin/bash
# A policy that cannot be read at the start, and a place for counting that cannot be had: tenant.on_error decides, and one
# line says why. A good policy that comes later is taken. And observe: nothing is refused, everything is told. Two users
# count on one table where its directory is theirs, and apart by default, which is told.
# limit: 200
# lane: pool-churn
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19820
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
addresses

first=$port
names=()
one() { # NAME POLICY SETTING…
    local name=$1 file=$2
    shift 2
    settings=("$@" CMSHIM_TENANT_POLICY="$file")
    serve "$name" block at="$LAB_ADDR,$port" quiet=1
    names+=("$name")
    port=$((port + 1))
}

mkdir "$here/directory"
truncate -s 100M "$here/large"
printf 'version = 1\ndefault = "allow"\n[[tenant]\n' >"$here/broken"
one missing "$here/missing"
one missing_open "$here/missing_open" CMSHIM_TENANT_ON_ERROR=allow
one directory "$here/directory"
one large "$here/large"
one broken "$here/broken" CMSHIM_EVENTS_MODE=off

# Limits that no other process would know of.
policy "$here/policy" <<'END_OF_POLICY'
default = "allow"
tenant = [{ name = "limited", peers = ["10.77.0.101"], max_connections = 1 }, { name = "rated", peers = ["10.77.0.102"], rate = 0.01 }]
END_OF_POLICY
mkdir "$here/full" "$here/readonly"
mount -t tmpfs -o size=64k none "$here/full"
dd if=/dev/zero of="$here/full/all" bs=64k count=1 status=none
mount -t tmpfs -o ro none "$here/readonly"
one full "$here/policy" CMSHIM_TENANT_DIR="$here/full"
one readonly "$here/policy" CMSHIM_TENANT_DIR="$here/readonly"
one full_open "$here/policy" CMSHIM_TENANT_DIR="$here/full" CMSHIM_TENANT_ON_ERROR=allow

# Observed.
policy "$here/observe" <<'END_OF_POLICY'
default = "deny"
mode = "observe"
tenant = [{ name = "limited", peers = ["10.77.0.101"], max_connections = 1 }, { name = "out", peers = ["10.77.0.102"], action = "deny" }]
END_OF_POLICY
one observe "$here/observe" CMSHIM_LOG_LEVEL=info
one observe_off "$here/observe" CMSHIM_LOG_LEVEL=info CMSHIM_EVENTS_MODE=off
await "${names[@]}"

steps=() wanted=
for n in "${!names[@]}"; do
    from=10.77.0.103
    case ${names[n]} in
        *_open | observe*) outcome="2 times ESTABLISHED 0" ;;
        full | readonly) outcome="2 times REJECTED 28, uncounted, tenant 'limited'" from=10.77.0.101 ;;
        *) outcome="2 times REJECTED 28, unreadable, tenant ''" ;;
    esac
    steps+=(port=$((first + n)) from=$from tries=2)
    wanted+="$from -> 10.77.0.1: $outcome"$'\n'
    case ${names[n]} in
        full | readonly)
            steps+=(from=10.77.0.103 try)
            wanted+="10.77.0.103 -> 10.77.0.1: ESTABLISHED 0"$'\n'
            ;;
        full_open)
            steps+=(from=10.77.0.101 keep try drop)
            wanted+="10.77.0.101 -> 10.77.0.1: kept, ESTABLISHED 0
10.77.0.101 -> 10.77.0.1: REJECTED 28, over-limit, tenant 'limited', limit 1, used 1"$'\n'
            ;;
        observe*)
            steps+=(from=10.77.0.101 keep keep drop drop from=10.77.0.102 try)
            wanted+="10.77.0.101 -> 10.77.0.1: kept, ESTABLISHED 0
10.77.0.101 -> 10.77.0.1: kept, ESTABLISHED 0
10.77.0.102 -> 10.77.0.1: ESTABLISHED 0"$'\n'
            ;;
    esac
done
equal "clients" "${wanted%$'\n'}" "$(client "${steps[@]}")"

# What is wrong, with its place, once.
complaint() { # NAME REGEX
    says "$1" "tenant\.policy $2"
    equal "$1: lines at the start" 1 "$(grep -c 'tenant\.policy .*tenant\.on_error' "$LAB_TMP/$1.log")"
}
complaint missing "$here/missing: .*all connects are refused"
complaint missing_open "$here/missing_open: .*nothing is refused"
complaint directory "$here/directory: .*(directory|no file)"
complaint large "$here/large: .*(larger than 16777216 bytes|too large)"
complaint broken "$here/broken:3:[0-9]+: "
for name in full readonly full_open; do says "$name" "limits of tenants cannot be counted with other processes: .*tenant\.on_error"; done
says full "connects of tenants with limits are refused"
for name in full readonly; do says "$name" "tenant 'limited' has a limit, and its connections cannot be counted .*; uncounted\).*tenant\.dir"; done
says full_open "each process counts alone"
for name in observe observe_off; do
    says "$name" "10.77.0.103 would be refused .*no tenant matches"
    says "$name" "10.77.0.101 would be refused .*tenant 'limited' has 1 of 1 connections"
    says "$name" "10.77.0.102 would be refused .*tenant 'out' may not connect"
    silent "$name" '[0-9] refused by'
done
"$CMSHIM" policy show "${server_of[observe]}" --json >"$LAB_TMP/show" || fail "cmshim policy show"
equal "observed, by two processes" "observe 2 2 0" "$(jq -r '[.state, (.tenants[] | select(.name == "limited").observed), (.tenants[] | select(.name == "out").observed), ([.tenants[].live] | add)] | join(" ")' "$LAB_TMP/show")"

# A file that another user cannot read.
policy "$here/secret" <<<'default = "allow"'
chmod 600 "$here/secret"
chmod 666 /dev/infiniband/*
chmod 711 "$here"
install -d -m 777 "$LAB_TMP" "$here/nobody"
by_nobody() { # NAME PORT GROUPS SETTING…
    local name=$1 port=$2 groups=$3
    shift 3
    (
        export "$@" CMSHIM_LOG_FILE="$LAB_TMP/$name.log"
        exec setpriv --reuid=65534 --regid=65534 "$groups" env LD_PRELOAD="$CMSHIM_LIB" \
            "$BIN/tenant/server" block at="$LAB_ADDR,$port" quiet=1 >"$LAB_TMP/$name.out" 2>&1
    ) &
    server_of[$name]=$!
}
by_nobody secret "$port" --clear-groups CMSHIM_TENANT_POLICY="$here/secret" CMSHIM_TENANT_DIR="$here/nobody"

# Root, and another user: in a directory of both, and in the places that are built in.
install -d -m 3770 -g 65533 "$here/group"
users=("$port" $((port + 1)) $((port + 2)) $((port + 3)))
settings=(CMSHIM_TENANT_POLICY="$here/policy" CMSHIM_TENANT_DIR="$here/group")
serve root block at="$LAB_ADDR,${users[1]}" quiet=1
await root
by_nobody user "${users[2]}" --groups=65533 "${settings[@]}"
by_nobody apart "${users[3]}" --clear-groups "${settings[0]}" CMSHIM_TENANT_DIR=
await secret user apart
equal "two users" "10.77.0.101 -> 10.77.0.1: kept, ESTABLISHED 0
10.77.0.101 -> 10.77.0.1: REJECTED 28, over-limit, tenant 'limited', limit 1, used 1
10.77.0.101 -> 10.77.0.1: ESTABLISHED 0
10.77.0.101 -> 10.77.0.1: in the end ESTABLISHED 0" "$(client from=10.77.0.101 port="${users[1]}" keep port="${users[2]}" try \
    port="${users[3]}" try port="${users[1]}" drop port="${users[2]}" until=ESTABLISHED 2>"$LAB_TMP/times")"
says apart "limits of tenants are counted in /(run/user|dev/shm)/.*65534.*, apart from processes of other users"
for name in root user; do silent "$name" "apart from"; done

# A good policy comes.
policy "$here/missing" <<<'default = "allow"'
policy "$here/missing_open" <<<'default = "deny"'
equal "later" "10.77.0.103 -> 10.77.0.1: in the end ESTABLISHED 0
10.77.0.103 -> 10.77.0.1: in the end REJECTED 28, no-tenant, tenant ''
10.77.0.103 -> 10.77.0.1: REJECTED 28, unreadable, tenant ''" \
    "$(client from=10.77.0.103 port=$first until=ESTABLISHED port=$((first + 1)) until=REJECTED port=$port try 2>"$LAB_TMP/times")"
complaint secret "$here/secret: .*(denied|ermission)"
names+=(secret root user apart)
for name in "${names[@]}"; do kill "${server_of[$name]}"; done
for name in "${names[@]}"; do ends "$name"; done
rm -rf /dev/shm/cmshim-65534
umount "$here/full" "$here/readonly"
