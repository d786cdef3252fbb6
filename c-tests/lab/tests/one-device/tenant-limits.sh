#!/bin/bash
# Limits: a connection gives its place back however it ends; processes share a limit; one that is killed gives its share
# back; a rate lets a burst through, and says when to come again.
# limit: 200
# lane: pool-churn
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19750
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
addresses
policy "$here/policy" <<'END_OF_POLICY'
default = "deny"
[[tenant]]
name = "two"
peers = ["10.77.0.101", "10.77.0.102"]
max_connections = 2
[[tenant]]
name = "one"
peers = ["10.77.0.104"]
max_connections = 1
[[tenant]]
name = "burst"
peers = ["10.77.0.103"]
rate = 0.5
burst = 3
END_OF_POLICY
settings=(CMSHIM_TENANT_POLICY="$here/policy")
yes="10.77.0.101 -> 10.77.0.1: ESTABLISHED 0"
full="10.77.0.101 -> 10.77.0.1: REJECTED 28, over-limit, tenant 'two', limit 2, used 2"

serve accept block at="$LAB_ADDR,$port" quiet=1
serve own epoll at="$LAB_ADDR,$((port + 1))" quiet=1 kind=own # is killed
serve migrate epoll at="$LAB_ADDR,$((port + 2))" quiet=1 migrate=1
serve reject block at="$LAB_ADDR,$((port + 3))" quiet=1 then=reject
serve close epoll at="$LAB_ADDR,$((port + 5))" quiet=1 then=close
settings+=(CMSHIM_EVENTS_MODE=off)
serve off epoll at="$LAB_ADDR,$((port + 6))" quiet=1
settings=("${settings[0]}" CMSHIM_THREADS=off)
serve inline edge at="$LAB_ADDR,$((port + 9))" quiet=1
serve sync sync at="$LAB_ADDR,$((port + 10))" quiet=1
settings=("${settings[0]}")
serve forked fork at="$LAB_ADDR,$((port + 11))" quiet=1
beneath=$BIN/tenant/lagging.so
serve lagging-reject block at="$LAB_ADDR,$((port + 13))" quiet=1 then=reject
serve lagging-destroy epoll at="$LAB_ADDR,$((port + 14))" quiet=1 then=destroy
settings+=(DESTROYED_BEFORE=1)
serve gone block at="$LAB_ADDR,$((port + 15))" quiet=1 then=destroy
settings=("${settings[0]}")
beneath=''
await accept own migrate reject close off inline sync forked lagging-reject lagging-destroy gone

# After all that has come and gone before, exactly two places are there.
two_places() { # WHAT PORT
    equal "$1" "10.77.0.101 -> 10.77.0.1: kept, ESTABLISHED 0
10.77.0.101 -> 10.77.0.1: kept, ESTABLISHED 0
$full
$full
$yes" "$(client port="$2" from=10.77.0.101 until=ESTABLISHED keep keep try try destroy until=ESTABLISHED say=- drop 2>>"$LAB_TMP/times" |
    sed -e '1d' -e 's/in the end //' -e '/^-$/d')"
}

SECONDS=0
times=([0]=80 [1]=10 [2]=20 [6]=40 [9]=10 [10]=10)
steps=(from=10.77.0.102) wanted=
for n in 0 1 2 6 9 10; do
    steps+=(port=$((port + n)) tries="${times[n]}")
    wanted+="10.77.0.102 -> 10.77.0.1: ${times[n]} times ESTABLISHED 0"$'\n'
done
steps+=(port=$((port + 3)) tries=30) # the program rejects each
wanted+="10.77.0.102 -> 10.77.0.1: 30 times REJECTED 28, not ours"$'\n'
equal "connects that come and go" "${wanted%$'\n'}" "$(client "${steps[@]}")"
# Requests that were waiting when the listener went. In between nobody listens.
client port=$((port + 5)) from=10.77.0.102 at=2 flood=20 >"$LAB_TMP/closing"
expect_no "$LAB_TMP/closing" over-limit
expect "$LAB_TMP/closing" 'REJECTED 28, not ours'
none_live() { # servers may lag behind what the client sees
    "$CMSHIM" policy show "${server_of[off]}" --json >"$LAB_TMP/show" || fail "cmshim policy show"
    live=$(jq '[.tenants[].host] | add' "$LAB_TMP/show")
    [ "$live" = 0 ]
}
wait_until 10 none_live
equal "places taken after 200 connections of nine servers" 0 "$live"
for n in 0 6; do two_places "two places at $n" $((port + n)); done
# A place is free before the peer hears that its connection is over.
equal "at once again" "10.77.0.104 -> 10.77.0.1: 3 times REJECTED 28, not ours
10.77.0.104 -> 10.77.0.1: 3 times REJECTED 28, not ours" "$(client from=10.77.0.104 port=$((port + 13)) tries=3 port=$((port + 14)) tries=3)"
# Nor is it taken again when the command fails because the kernel does not have the id any more.
again="10.77.0.104 -> 10.77.0.1: in the end REJECTED 28, not ours"
equal "destroyed by another thread" "$again
$again" "$(client from=10.77.0.104 port=$((port + 15)) until="REJECTED 28, not" until="REJECTED 28, not" 2>/dev/null)"
# A client that dies.
client port=$port from=10.77.0.102 keep keep die >"$LAB_TMP/died" 2>&1
equal "dies" 2 "$(grep -c 'kept, ESTABLISHED' "$LAB_TMP/died")"
echo "one process: $SECONDS s"

# Two processes, one of them forked without exec; then one is killed.
SECONDS=0
mkfifo "$here/go"
exec 8<>"$here/go"
client port=$((port + 11)) from=10.77.0.101 keep say=kept line say=over <&8 >"$LAB_TMP/keeper" &
keeper=$!
wait_until 20 has "$LAB_TMP/keeper" kept || fail "nothing is kept"
equal "two processes" "10.77.0.101 -> 10.77.0.1: kept, ESTABLISHED 0
$full" "$(client port=$port from=10.77.0.101 keep try)"
equal "the forked one, too" "$yes" "$(client port=$((port + 11)) from=10.77.0.101 until=ESTABLISHED 2>/dev/null | sed 's/in the end //')"
client port=$((port + 1)) from=10.77.0.102 keep say=kept line say=over <&8 >"$LAB_TMP/other" &
other=$!
wait_until 20 has "$LAB_TMP/other" kept || fail "nothing is kept"
equal "full with two processes" "$full" "$(client port=$port from=10.77.0.101 try)"
kill -KILL "${server_of[own]}"
equal "after one was killed" "$yes" "$(client port=$port from=10.77.0.101 until=ESTABLISHED 2>"$LAB_TMP/killed" | sed 's/in the end //')"
echo "a killed process gave its share back: $(<"$LAB_TMP/killed")"
echo >&8
echo >&8
finish $keeper 20
finish $other 20
wait "${server_of[own]}" 2>/dev/null
unset "server_of[own]"
echo "two processes: $SECONDS s"

SECONDS=0
# A burst, then refusals that say when.
equal "burst" "10.77.0.103 -> 10.77.0.1: 3 times ESTABLISHED 0
10.77.0.103 -> 10.77.0.1: REJECTED 28, rate, tenant 'burst', again later
10.77.0.103 -> 10.77.0.1: ESTABLISHED 0" "$(client port=$port from=10.77.0.103 tries=3 try again try)"
echo "burst: $SECONDS s"

no_ids_left "${!server_of[@]}"
for name in "${!server_of[@]}"; do kill "${server_of[$name]}"; done
for name in "${!server_of[@]}"; do
    ends "$name"
    expect "$LAB_TMP/$name.out" "listeners gone$"
done
