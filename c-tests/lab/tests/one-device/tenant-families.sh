#!/bin/bash
# Each kind of rule and of limit for IPv6, and those with ranges or counts for IPv4 beside it, at both barriers: in the tap
# (its thread, and inline), and in rdma_get_cm_event (batching off, no threads, a synchronous listener). And what a
# preloaded client says of a limit and of a rate, refused at either barrier.
# limit: 200
# lane: pool-churn
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=20000
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
last_six=22
addresses

# Each barrier has one port. So that each is inside of what is allowed and outside of it, peers differ: of one the range is
# exactly all these ports, of another the ports just below and just above.
barriers=(thread inline no_threads off endpoint)
last=$((port + ${#barriers[@]} - 1))
all="\"$port-$last\"" none="\"$((port - 9))-$((port - 1))\", \"$((last + 1))-$((last + 9))\""
by_number=$(seq -s ', ' "$port" "$last")
{
    cat <<END_OF_POLICY
default = "deny"
tenant = [
  { name = "net4", action = "deny", peers = ["10.77.0.0/24"] },
  { name = "range4", peers = ["10.77.0.103"], ports = [$all] },
  { name = "no-range4", peers = ["10.77.0.104"], ports = [$none] },
  { name = "one4", peers = ["10.77.0.111"], max_connections = 1 },
  { name = "net6", action = "deny", peers = ["fd77::/64"] },
  { name = "ports6", peers = ["fd77::11"], ports = [$by_number] },
  { name = "no-ports6", peers = ["fd77::12"], ports = [$((port - 1)), $((last + 1))] },
  { name = "range6", peers = ["fd77::13"], ports = [$all] },
  { name = "no-range6", peers = ["fd77::14"], ports = [$none] },
  { name = "local6", peers = ["fd77::15"], local = ["fd77::/126"] },
  { name = "no-local6", peers = ["fd77::16"], local = ["fd77::2", "10.77.0.1"] },
  { name = "pkey6", peers = ["fd77::17"], pkeys = [0x7fff] },
  { name = "no-pkey6", peers = ["fd77::18"], pkeys = [0x0001] },
  { name = "gid6", peers = ["fd77::19"], gids = ["fd77::19/128"] },
  { name = "no-gid6", peers = ["fd77::20"], gids = ["::ffff:0:0/96", "fd77::19"] },
  { name = "one6", peers = ["fd77::21"], max_connections = 1 },
END_OF_POLICY
    # Too slow for a new token to come while the test runs, however long that takes. Each barrier has its own.
    for number in "${!barriers[@]}"; do
        for peer in 10.77.0.112 fd77::22; do
            echo "  { name = \"slow-$peer-$number\", peers = [\"$peer\"], ports = [$((port + number))], rate = 0.0001, burst = 2 },"
        done
    done
    echo "]"
} | policy "$here/policy"

names=()
barrier_is() { # NAME WAY SETTING…
    local at4="at=$LAB_ADDR,$((port + ${#names[@]}))" at6="at=fd77::1,$((port + ${#names[@]}))" name=$1 way=$2
    shift 2
    settings=("$@" CMSHIM_TENANT_POLICY="$here/policy")
    names+=("$name")
    if [ "$way" = sync ]; then # each has one address
        serve "${name}6" sync "$at6"
        serve "$name" sync "$at4"
    else
        serve "$name" "$way" "$at4" "$at6"
    fi
}
barrier_is thread block A=a
barrier_is inline edge CMSHIM_EVENTS_MODE=inline
barrier_is no_threads block CMSHIM_THREADS=off
barrier_is off epoll CMSHIM_EVENTS_MODE=off
barrier_is endpoint sync A=a
await "${barriers[@]}" endpoint6
echo "servers: $SECONDS s"

steps=() wanted='' yes="ESTABLISHED 0"
to() { to=$1 steps+=(to="$1"); }
expects() { # PEER OUTCOME STEP…: adds them
    steps+=(from="$1" "${@:3}")
    wanted+="$1 -> $to: $2"$'\n'
}
allowed_at() { expects "$1" "$yes" try; }
denied_at() { expects "$1" "REJECTED 28, denied, tenant '$2'" try; }
one_at() { # PEER TENANT PORT: the place is taken and free again
    # A synchronous listener serves one connection and ends it: the place is taken at another one, which counts the same.
    [ "$3" = "$last" ] && steps+=(port=$((last - 1)))
    expects "$1" "kept, $yes" keep
    steps+=(port="$3")
    expects "$1" "REJECTED 28, over-limit, tenant '$2', limit 1, used 1" try
    steps+=(drop)
    allowed_at "$1"
}
slow_at() { # PEER NUMBER
    expects "$1" "2 times $yes" tries=2
    expects "$1" "REJECTED 28, rate, tenant 'slow-$1-$2', again later" try
}
for number in "${!barriers[@]}"; do
    steps+=(say="${barriers[number]}" port=$((port + number)))
    wanted+=${barriers[number]}$'\n'
    to "$LAB_ADDR"
    allowed_at 10.77.0.103
    denied_at 10.77.0.104 net4
    one_at 10.77.0.111 one4 $((port + number))
    slow_at 10.77.0.112 "$number"
    to fd77::1
    for peer in {11..20..2}; do
        allowed_at "fd77::$peer"
        denied_at "fd77::$((peer + 1))" net6
    done
    one_at fd77::21 one6 $((port + number))
    slow_at fd77::22 "$number"
done
SECONDS=0
equal "bare client" "${wanted%$'\n'}" "$(client "${steps[@]}")"
echo "bare client: $SECONDS s"

# The same refusals in the words of a client's own log, which has a line for each.
SECONDS=0
export CMSHIM_REASONS_REPEAT_S=0
for number in 0 3; do # in the tap, and with batching off
    name=${barriers[number]} own=$((port + number))
    log=$LAB_TMP/preloaded-$name.log
    steps=(port="$own") wanted=''
    for family in "$LAB_ADDR 10.77.0.111 one4 10.77.0.112" "fd77::1 fd77::21 one6 fd77::22"; do
        read -r to full tenant slow <<<"$family"
        to "$to"
        expects "$full" "kept, $yes" keep
        expects "$full" "REJECTED 28, over-limit, tenant '$tenant', limit 1, used 1" try
        expects "$slow" "REJECTED 28, rate, tenant 'slow-$slow-$number', again later" try
        steps+=(drop)
    done
    equal "preloaded client, $name" "${wanted%$'\n'}" "$(CMSHIM_LOG_FILE=$log preloaded "$BIN/tenant/client" "${steps[@]}")"
    for family in "10.77.0.1 10.77.0.111 one4 10.77.0.112" "\[fd77::1\] \[fd77::21\] one6 \[fd77::22\]"; do
        read -r to full tenant slow <<<"$family"
        # Nobody knows when a place will be free, but when the next token comes is known: 10,000 s after the one before.
        says "preloaded-$name" "connect $full:[0-9]+ -> $to:$own refused by policy of the peer after [^:]*: tenant '$tenant' has 1 of 1 connections \(REJECTED 28, .*Try again later; if that happens often, close connections"
        says "preloaded-$name" "connect $slow:[0-9]+ -> $to:$own refused by policy of the peer after [^:]*: tenant 'slow-.*-$number' connects too often \(REJECTED 28, .*Try again after 2\.[0-8] h; if that happens often, connect less often"
    done
    equal "lines of the preloaded client, $name" 4 "$(grep -c 'refused by policy' "$log")"
done
echo "preloaded client: $SECONDS s"

no_ids_left "${!server_of[@]}"
for name in "${!server_of[@]}"; do kill "${server_of[$name]}"; done
# Of these requests the program has seen those that were allowed, and no other.
declare -A seen=([thread]=16 [inline]=14 [no_threads]=14 [off]=18 [endpoint]=4 [endpoint6]=8)
for name in "${!server_of[@]}"; do
    ends "$name"
    expect "$LAB_TMP/$name.out" "^server: ${seen[$name]} times CONNECT_REQUEST"
done
