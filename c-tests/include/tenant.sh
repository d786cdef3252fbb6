# shellcheck shell=bash disable=SC2034
# Helpers for the lab's tests of access checks. Sourced after lib.sh; $port is the test's first port.
#
#   addresses               peers to be: 10.77.0.101 to .112, 10.81.0.5, fd77::11 to fd77::$last_six (12)
#   policy FILE             writes standard input there, with "version = 1" before it
#   serve NAME WAY OPTION…  a server (tenant/server.c), preloaded, in the background; its settings are in "settings",
#                           a preload under ours in "beneath".
#                           $pid is it, its outputs are $LAB_TMP/NAME.out and .log; await NAME… before it is used
#   client STEP…            a client (tenant/client.c), bare
#   ends NAME [SECONDS]     SIGTERM, and it has to end well in that time
#   no_ids_left NAME…       the kernel has no ids of these servers but their listeners
#   says NAME TEXT, silent NAME TEXT    its log has such a line, or none (grep -E)
#   equal WHAT EXPECTED GOT texts

here=/run/cmshim-test-${0##*/}
here=${here%.sh}
rm -rf "$here"
mkdir -p "$here"
export CMSHIM_TENANT_DIR=$here/share
mkdir -p "$here/share"
settings=() beneath='' last_six=12
declare -A server_of=()

addresses() {
    local i lines='' want=fd77:0000:0000:0000:0000:0000:0000:00$last_six
    for i in {101..112}; do lines+="addr replace 10.77.0.$i/24 dev $LAB_NETDEV"$'\n'; done
    lines+="addr replace 10.81.0.5/24 dev $LAB_NETDEV"$'\n'
    for ((i = 11; i <= last_six; i++)); do lines+="addr replace fd77::$i/64 dev $LAB_NETDEV nodad"$'\n'; done
    ip -batch - <<<"$lines" || fail "no addresses"
    # The device takes them one after the other.
    wait_until 20 grep -qs "$want" -r /sys/class/infiniband/rxe0/ports/1/gids || fail "the device did not take the addresses"
}

policy() { # FILE
    { echo 'version = 1'; cat; } >"$1.new"
    mv "$1.new" "$1"
}

serve() { # NAME WAY OPTION…
    local name=$1
    shift
    (
        [ "${#settings[@]}" = 0 ] || export "${settings[@]}"
        export CMSHIM_LOG_FILE=$LAB_TMP/$name.log LD_PRELOAD=$CMSHIM_LIB${beneath:+:$beneath}
        exec "$BIN/tenant/server" "$@" >"$LAB_TMP/$name.out" 2>&1
    ) &
    pid=$!
    server_of[$name]=$pid
}

await() { # NAME…
    local name
    for name in "$@"; do
        wait_until 20 has "$LAB_TMP/$name.out" listening || fail "$name does not listen: $(cat "$LAB_TMP/$name".*)"
    done
}

only_listeners() { # NAME…
    list=$(rdma resource show cm_id)
    for name in "$@"; do
        pid=$(</proc/"${server_of[$name]}"/task/"${server_of[$name]}"/children) # where it has forked
        pid=${pid%% *}
        listeners=$(sed -nE 's/^server: listening ([0-9]+)$/\1/p' "$LAB_TMP/$name.out")
        ids=$(grep -c " pid ${pid:-${server_of[$name]}} " <<<"$list")
        [ "$ids" = "$listeners" ] || return 1
    done
}

no_ids_left() { # NAME…
    local name pid list listeners ids
    wait_until 20 only_listeners "$@" && return # others come and go while the kernel lists them
    fail "$name has $ids ids in the kernel, of them $listeners listeners: $(grep " pid ${server_of[$name]} " <<<"$list")"
}

client() { "$BIN/tenant/client" "$@"; }

ends() { # NAME [SECONDS]
    kill "${server_of[$1]}" 2>/dev/null
    finish "${server_of[$1]}" "${2:-10}"
    expect_status 0 $? "$1: $(tail -n 3 "$LAB_TMP/$1.out")"
}

says() { # NAME REGEX
    grep -qE -- "$2" "$LAB_TMP/$1.log" 2>/dev/null || fail "$1 does not say '$2': $(cat "$LAB_TMP/$1.log")"
}

silent() { # NAME REGEX
    ! grep -E -- "$2" "$LAB_TMP/$1.log" 2>/dev/null || fail "$1 says the line above (matches '$2')"
}

equal() { # WHAT EXPECTED GOT
    [ "$2" = "$3" ] && return
    diff -u <(echo "$2") <(echo "$3")
    fail "$1: not what was expected (-: expected)"
}
